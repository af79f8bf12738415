"""Where a block's output goes: descriptors 1 and 2, for Python, C code and threads alike."""

import fcntl
import io
import os
from typing import Any

_PLACES = (1, 2)
_LEAST_KEPT = 63
"""The output is kept for the next block here, or above where something else is; to here one costs a fork nothing."""
_NULL_DEVICE = "/dev/null"


class _Stream(io.TextIOWrapper):
    """A stream that shows whether it was altered: a plain one does not tell how it ends its lines."""

    def reconfigure(self, **options: Any) -> None:
        """Do as any stream does, and remember it, also where only a part was done."""
        self.is_altered = True
        super().reconfigure(**options)


_AS_MADE = dict(vars(_Stream))


class _Kept:
    """Which descriptor keeps the output, and which file that is: a block may close it or put another one there."""

    def __init__(self) -> None:
        self.descriptor = _LEAST_KEPT
        self.file: tuple[int, int] | None = None


_kept = _Kept()


def redirect_output(descriptor: int) -> None:
    """Send what is written to descriptors 1 and 2 to another one, which is closed."""
    if _is_output(_kept.descriptor):
        os.close(_kept.descriptor)
    _kept.file = _file_behind(descriptor)
    _keep(descriptor)
    _place(descriptor)
    os.close(descriptor)


def empty_input() -> None:
    """Read nothing from descriptor 0, by a file of one's own: a shared one's flags would outlive who sets them."""
    null = os.open(_NULL_DEVICE, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)


def restore_output() -> bool:
    """Open descriptors 1 and 2 again, whatever a block has made of them; tell whether the output was still there.

    Where the block has closed it everywhere, what is written goes nowhere until the output is redirected again.
    """
    if _is_output(_kept.descriptor):
        _place(_kept.descriptor)
        return True
    for descriptor in _PLACES:
        if _is_output(descriptor):
            _keep(descriptor)
            _place(descriptor)
            return True
    null = os.open(_NULL_DEVICE, os.O_WRONLY)
    _place(null)
    if null not in _PLACES:
        os.close(null)
    return False


def _place(descriptor: int) -> None:
    for place in _PLACES:
        os.dup2(descriptor, place)


def _keep(descriptor: int) -> None:
    """Keep a descriptor's file at the first number that nobody uses."""
    _kept.descriptor = fcntl.fcntl(descriptor, fcntl.F_DUPFD, _LEAST_KEPT)


def _is_output(descriptor: int) -> bool:
    return _kept.file is not None and _file_behind(descriptor) == _kept.file


def _file_behind(descriptor: int) -> tuple[int, int] | None:
    """Return what a file is known by, or None for a descriptor that is closed."""
    try:
        status = os.fstat(descriptor)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def open_stream() -> io.TextIOWrapper:
    """Open descriptor 1 as text, written through at once: a step that is killed leaves what it printed."""
    raw = io.FileIO(1, "w", closefd=False)
    return _Stream(raw, "utf-8", "backslashreplace", "\n", write_through=True)  # type: ignore[arg-type]


def renew_stream(stream: io.TextIOWrapper) -> io.TextIOWrapper:
    """Return a stream as `open_stream` makes it: this one, or another where a block closed or altered it or its class.

    How lines end is not seen where it was altered past the class, by `io.TextIOWrapper.reconfigure(sys.stdout, ...)`.
    """
    if dict(vars(_Stream)) != _AS_MADE:
        _renew_class()
        return open_stream()
    try:
        is_altered = stream.closed or vars(stream) or list(vars(stream.buffer)) != ["name"]
    except ValueError:  # it was detached from its descriptor
        return open_stream()
    return open_stream() if is_altered or type(stream) is not _Stream else stream


def _renew_class() -> None:
    for name in vars(_Stream).keys() - _AS_MADE.keys():
        delattr(_Stream, name)
    for name, made in _AS_MADE.items():
        if vars(_Stream).get(name) is not made:
            setattr(_Stream, name, made)
