"""Models and tokenizers by folder or hub id; what can go wrong on the way is one line."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tasks.running.errors import UserError


def is_local(source: str) -> bool:
    """Tell whether a source is meant as a folder: it exists, or it is written as a path."""
    return source.startswith(("/", ".", "~")) or Path(source).is_dir()


@contextmanager
def explained(source: str, what: str) -> Iterator[None]:
    """Turn the library's errors about a missing, gated or unreachable source into one line with the way out.

    Raises:
        UserError: Whatever the library raised as OSError or ValueError inside.
    """
    from huggingface_hub.errors import GatedRepoError

    if is_local(source) and not Path(source).is_dir():
        raise UserError(f"no {what} at {source}: there is no such folder; train or copy it there, or name a hub id")
    try:
        yield
    except (OSError, ValueError) as error:
        if _cause(error, GatedRepoError):
            raise UserError(
                f"{what} {source} is gated on the hub; accept its licence there and set HF_TOKEN, or name a local copy"
            ) from error
        place = "in that folder" if is_local(source) else "on the hub, or the hub cannot be reached"
        raise UserError(
            f"no usable {what} {source} {place} ({_first_line(error)}); name another folder or hub id"
        ) from error


def _cause(error: BaseException | None, kind: type[BaseException]) -> bool:
    while error is not None:
        if isinstance(error, kind):
            return True
        error = error.__cause__ or error.__context__
    return False


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0].rstrip(".") if lines else type(error).__name__
