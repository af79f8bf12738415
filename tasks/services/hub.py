"""Models and tokenizers by folder or hub id.

What can go wrong on the way is one line.
"""

import errno
import json
import logging
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from carryover.tasks.services.errors import UserError, first_line

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

DOWNLOADED_FILES = ("*.json", "*.jinja", "*.txt", "*.model")
"""Files of a tokenizer on the hub."""
SOURCE_NAME = "weights_source.json"
"""Card beside weights that `deployments/fetch_weights.py` wrote: title, wheels, digest."""
_loading = threading.Lock()
"""Held by the thread that loads a tokenizer: conditions are played side by side in threads."""


def is_local(source: str) -> bool:
    """Tell whether a source is a folder or written as a path."""
    return source.startswith(("/", ".", "~")) or Path(source).is_dir()


def expanded(source: str) -> str:
    """Return a source with a leading `~` expanded to the home folder."""
    if source.startswith("~"):
        return str(Path(source).expanduser())
    return source


def source_title(source: str) -> str | None:
    """Return how the card of fetched weights names them.

    None for a folder without one, or a hub id.
    """
    card = Path(expanded(source)) / SOURCE_NAME
    if not card.is_file():
        return None
    return json.loads(card.read_text(encoding="utf-8"))["title"]


def find_file(source: str, name: str, revision: str | None) -> Path:
    """Return a model's file from its folder, the cache or the hub.

    Raise `OSError` if the hub does not give it.
    """
    from huggingface_hub import hf_hub_download, try_to_load_from_cache

    if is_local(source):
        return Path(source) / name
    cached = try_to_load_from_cache(source, name, revision=revision)
    return Path(cached if isinstance(cached, str) else hf_hub_download(source, name, revision=revision))


def import_bitsandbytes() -> None:
    """Import bitsandbytes as PEFT does, without a download or notice.

    It may be missing: only a base in 4 bits needs it, and transformers says so there.
    """
    logging.getLogger("bitsandbytes").setLevel(logging.ERROR)  # offers an optional package on every import
    # With `kernels` installed its import downloads a kernel for CPUs from the hub, and goes on where that fails.
    modules: dict[str, Any] = sys.modules
    kernels = modules.get("kernels")
    modules["kernels"] = None
    try:
        with suppress(ModuleNotFoundError):
            import bitsandbytes  # noqa: F401
    finally:
        del modules["kernels"]
        if kernels is not None:
            modules["kernels"] = kernels


@contextmanager
def explained(source: str, what: str) -> Iterator[None]:
    """Raise hub errors as a `UserError` with the way out."""
    from huggingface_hub.errors import GatedRepoError

    if is_local(source) and not Path(source).is_dir():
        raise UserError(f"{what} not found: {source}; train or copy it there, or pass a hub id")
    try:
        yield
    except (OSError, ValueError) as error:
        causes = _chain(error)
        is_disk_full = any(getattr(each, "errno", None) == errno.ENOSPC for each in causes)
        if is_disk_full:
            said = f"the disk is full while {what} {source} is read into the hub's cache"
            remedy = "free some space or set HF_HOME to a folder on another disk"
        elif any(isinstance(each, GatedRepoError) for each in causes):
            said = f"{what} {source} is gated on the hub"
            remedy = "accept its licence there and set HF_TOKEN, or name a local copy"
        else:
            place = "in that folder" if is_local(source) else "on the hub, or the hub cannot be reached"
            said = f"no usable {what} {source} {place} ({first_line(error)})"
            remedy = "name another folder or hub id"
        raise UserError(f"{said}; {remedy}") from error


def load_tokenizer(source: str | Path) -> "PreTrainedTokenizerBase":
    """Return the tokenizer of a folder or hub id.

    Raise `UserError` if it is missing, gated or unreachable.
    """
    place = expanded(str(source))
    # transformers imports its parts when they are first asked for, and fails where two threads ask at once
    with _loading, explained(place, "tokenizer"):
        from transformers import AutoTokenizer

        return AutoTokenizer.from_pretrained(place, local_files_only=is_local(place))


def fetch_tokenizer(source: str, revision: str) -> Path:
    """Return the tokenizer's folder of a hub commit, downloaded if missing.

    A folder as it is.

    Raise `UserError` if it is missing, gated or unreachable.
    """
    if is_local(source):
        return Path(source)
    with explained(source, "tokenizer"):
        from huggingface_hub import snapshot_download

        return Path(snapshot_download(source, revision=revision, allow_patterns=list(DOWNLOADED_FILES)))


def _chain(error: BaseException) -> list[BaseException]:
    """Return an error and its causes, to the first."""
    chain = [error]
    while cause := chain[-1].__cause__ or chain[-1].__context__:
        chain.append(cause)
    return chain
