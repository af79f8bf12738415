"""Where a block's output goes: descriptors 1 and 2, for Python, C code and threads alike."""

import io
import os

_PLACES = (1, 2)
_KEPT = 63
"""Where the output is kept for the next block; the highest descriptor that costs a fork nothing."""
_ENCODING, _ERRORS = "utf-8", "backslashreplace"


def redirect_output(descriptor: int) -> None:
    """Send what is written to descriptors 1 and 2 to another one, which is closed."""
    for place in (*_PLACES, _KEPT):
        os.dup2(descriptor, place)
    os.close(descriptor)


def restore_output() -> None:
    """Open descriptors 1 and 2 again, whatever a block has made of them."""
    for place in _PLACES:
        os.dup2(_KEPT, place)


def open_stream() -> io.TextIOWrapper:
    """Open descriptor 1 as text, written through at once: a step that is killed leaves what it printed."""
    raw = io.FileIO(1, "w", closefd=False)
    return io.TextIOWrapper(raw, encoding=_ENCODING, errors=_ERRORS, write_through=True)  # type: ignore[arg-type]


def is_as_opened(stream: io.TextIOWrapper) -> bool:
    """Tell whether a block has left a stream as `open_stream` made it."""
    try:
        is_usual = not stream.closed and stream.write_through
    except ValueError:  # it was detached from its descriptor
        return False
    return is_usual and stream.encoding == _ENCODING and stream.errors == _ERRORS and not vars(stream)
