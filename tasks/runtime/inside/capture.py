"""A block's output: descriptors 1 and 2, for all its code."""

from fcntl import F_DUPFD, fcntl
from io import FileIO, TextIOWrapper
from os import O_RDONLY, O_WRONLY, close, dup2, fstat  # references of our own: a block may rebind what a module holds
from os import open as open_file
from typing import Any

_PLACES = (1, 2)
_LEAST_KEPT = 63
"""The output is kept for the next block here, or above where something else is; to here one costs a fork nothing."""
_NULL_DEVICE = "/dev/null"


class _Kept:
    """The descriptor that keeps the output, and its file."""

    descriptor = _LEAST_KEPT
    file: tuple[int, int] | None = None


_kept = _Kept()


def redirect_output(descriptor: int) -> None:
    """Send descriptors 1 and 2 to another one, which is closed."""
    if _is_output(_kept.descriptor):
        close(_kept.descriptor)
    _kept.file = _file_behind(descriptor)
    _keep(descriptor)
    _place(descriptor)
    close(descriptor)


def empty_input() -> None:
    """Read nothing from descriptor 0, by a file of one's own."""
    null = open_file(_NULL_DEVICE, O_RDONLY)
    dup2(null, 0)
    close(null)


def restore_output() -> bool:
    """Open descriptors 1 and 2 again; tell whether output was there.

    Where the block has closed it everywhere, what is written goes nowhere until the output is redirected again.
    """
    for descriptor in (_kept.descriptor, *_PLACES):
        if _is_output(descriptor):
            if descriptor in _PLACES:
                _keep(descriptor)
            _place(descriptor)
            return True
    null = open_file(_NULL_DEVICE, O_WRONLY)
    _place(null)
    if null not in _PLACES:
        close(null)
    return False


def _place(descriptor: int) -> None:
    for place in _PLACES:
        dup2(descriptor, place)


def _keep(descriptor: int) -> None:
    """Duplicate a descriptor to the lowest unused number from `_LEAST_KEPT` on."""
    _kept.descriptor = fcntl(descriptor, F_DUPFD, _LEAST_KEPT)


def _is_output(descriptor: int) -> bool:
    return _kept.file is not None and _file_behind(descriptor) == _kept.file


def _file_behind(descriptor: int) -> tuple[int, int] | None:
    """Return a file's identity, or None for a closed descriptor."""
    try:
        status = fstat(descriptor)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def open_stream() -> TextIOWrapper:
    """Open descriptor 1 as text, written through at once.

    A step that is killed leaves what it printed.
    """
    raw: Any = FileIO(1, "w", closefd=False)
    return TextIOWrapper(raw, "utf-8", "backslashreplace", "\n", write_through=True)
