"""The folder of a training: whose it is, its checkpoints, and the digest of what it holds."""

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

from tasks.running.errors import UserError
from tasks.sft.card import CARD_NAME
from tasks.sft.conversations import digest_of_file

CHECKPOINTS = "checkpoints"
IDENTITY = "training.json"
LAST_FILE = "trainer_state.json"
"""What the trainer writes last into a checkpoint."""


def start_digests(source: str) -> dict[str, str]:
    """Tell what the training starts from by the files that say so; a hub id stands for itself."""
    files = [Path(source) / name for name in ("tokenizer.json", CARD_NAME)]
    return {path.name: digest_of_file(path) for path in files if path.exists()} or {"hub": source}


def claim(output: Path, identity: dict[str, Any]) -> None:
    """Make the folder this training's own, so that no checkpoint of another one is taken up.

    Raises:
        UserError: It is another training's.
    """
    text = json.dumps(identity, sort_keys=True, indent=2) + "\n"
    path = output / IDENTITY
    output.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        temporary = output / f".{IDENTITY}.tmp"
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(path)
    elif path.read_text(encoding="utf-8") != text:
        raise UserError(
            f"{output} holds a training of another start, contract, data, seed or settings; "
            "choose another folder or delete it"
        )


def last_checkpoint(folder: Path) -> str | None:
    """Return the newest checkpoint that was written to its end; a torn one is removed."""
    checkpoints = sorted(folder.glob("checkpoint-*"), key=lambda path: int(path.name.rpartition("-")[2]))
    while checkpoints and not _is_whole(checkpoints[-1]):
        shutil.rmtree(checkpoints.pop())
    return str(checkpoints[-1]) if checkpoints else None


def _is_whole(checkpoint: Path) -> bool:
    try:
        json.loads((checkpoint / LAST_FILE).read_text(encoding="utf-8"))
    except (FileNotFoundError, json.JSONDecodeError):
        return False
    return True


def digest_of_tensors(folder: Path) -> str:
    """Return the SHA-256 over the tensor files of a model folder, by name."""
    digest = hashlib.sha256()
    for path in sorted(folder.glob("*.safetensors")):
        digest.update(path.name.encode())
        digest.update(digest_of_file(path).encode())
    return digest.hexdigest()
