"""Where a block's output goes: descriptors 1 and 2, for Python, C code and threads alike."""

import io
import os


def redirect_output(descriptor: int) -> None:
    """Send what is written to descriptors 1 and 2 to another one, which is closed."""
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    os.close(descriptor)


def open_stream() -> io.TextIOWrapper:
    """Open descriptor 1 as text, written through at once: a step that is killed leaves what it printed."""
    raw = io.FileIO(1, "w", closefd=False)
    return io.TextIOWrapper(raw, encoding="utf-8", errors="backslashreplace", write_through=True)  # type: ignore[arg-type]
