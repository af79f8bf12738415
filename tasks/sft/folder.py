"""The folder of a training: owner, checkpoints, digest."""

import hashlib
import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

from carryover.tasks.services.errors import UserError
from carryover.tasks.services.hub import expanded, is_local
from carryover.tasks.services.whole_files import digest_of_file, file_lock_when_free, write_whole
from carryover.tasks.sft.card import CARD_NAME

CHECKPOINTS = "checkpoints"
LOCK_FILE = ".training.lock"
STATE_FILES = ("optimizer.*", "scheduler.pt", "rng_state*.pth")
"""Files needed beside weights to resume; without them the trainer continues to other weights.

Several processes write a generator's state each, and with FSDP `optimizer.bin` in place of `optimizer.pt`.
"""
START_FILES = ("tokenizer.json", "tokenizer_config.json", "config.json", "model.safetensors.index.json", CARD_NAME)
"""The small files that say what a training starts from, beside its weights."""
WEIGHTS = ("*.safetensors", "*.bin")


def start_digests(source: str) -> dict[str, str]:
    """Return digests of what a training starts from.

    Tokenizer, configuration, weights and card; a hub id stands for itself.
    """
    folder = Path(source)
    if not folder.is_dir():
        return {"hub": source}
    files = sorted(chain.from_iterable(map(folder.glob, (*START_FILES, *WEIGHTS))))
    return {path.name: digest_of_file(path) for path in files}


def base_identity(source: str, revision: str | None) -> str:
    """Return a base's digest, or its hub id and commit.

    Raise `UserError` without a commit.
    """
    folder = Path(expanded(source))
    if folder.is_dir():
        # Gigabytes are read once for each state of the folder, and again when a file has changed.
        status = ((path.name, path.stat().st_mtime_ns, path.stat().st_size) for path in sorted(folder.iterdir()))
        return _content_digest(str(folder), tuple(status))
    if revision is None and not is_local(source):
        raise UserError(f"base model {source} has no revision; pass --base-revision")
    return f"{source}@{revision}"


@cache
def _content_digest(folder: str, _status: tuple[tuple[str, int, int], ...]) -> str:
    """Return a digest of a training's start, cached per file."""
    return hashlib.sha256(json.dumps(start_digests(folder), sort_keys=True).encode()).hexdigest()


@contextmanager
def held(output: Path, check: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Keep a folder for one process while the block runs.

    Another process that holds it is waited for: it trains the same model, for another study. `check` is called at
    every look and may raise.
    """
    named: list[str] = []

    def look(holder: str) -> None:
        check()
        if not named:
            named.append(holder)
            print(f"waiting for {holder}, which trains in {output}", flush=True)

    with file_lock_when_free(output / LOCK_FILE, look):
        yield


def claim(output: Path, identity: dict[str, Any]) -> None:
    """Claim the folder for this training.

    Raise `UserError` if another one has finished or left a checkpoint there.
    """
    text = json.dumps(identity, sort_keys=True, indent=2) + "\n"
    path = output / "training.json"
    if path.exists() and path.read_text(encoding="utf-8") == text:
        return
    has_finished = (output / CARD_NAME).exists()
    if path.exists() and (has_finished or last_checkpoint(output / CHECKPOINTS) is not None):
        raise UserError(
            f"{output} holds a different training (start, contract, data, seed or settings differ); "
            "choose another folder or delete it"
        )
    write_whole(path, text)


def clear(output: Path, check: Callable[[], None]) -> None:
    """Empty a folder, once no other process trains in it."""
    with held(output, check):
        for path in output.iterdir():
            if path.is_dir():
                shutil.rmtree(path)
            elif path.name != LOCK_FILE:
                path.unlink()


def last_checkpoint(folder: Path) -> str | None:
    """Return the newest whole checkpoint, removing broken ones.

    A kill leaves them half written or half removed.
    """
    checkpoints = sorted(folder.glob("checkpoint-*"), key=lambda path: int(path.name.rpartition("-")[2]))
    whole = []
    for checkpoint in checkpoints:
        try:
            json.loads((checkpoint / "trainer_state.json").read_text(encoding="utf-8"))  # what is written last
        except (FileNotFoundError, json.JSONDecodeError):
            continue
        has_weights = any(any(checkpoint.glob(pattern)) for pattern in WEIGHTS)
        if has_weights and all(any(checkpoint.glob(pattern)) for pattern in STATE_FILES):
            whole.append(checkpoint)
    for torn in set(checkpoints).difference(whole):
        shutil.rmtree(torn)
    if whole:
        return str(whole[-1])
    return None


def digest_of_tensors(folder: Path) -> str:
    """Return the SHA-256 over a model folder's tensor files."""
    files = sorted(folder.glob("*.safetensors"))
    return hashlib.sha256("".join(path.name + digest_of_file(path) for path in files).encode()).hexdigest()
