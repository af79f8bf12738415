"""Descendants and parent of a process."""

from itertools import chain
from pathlib import Path


def descendants(process: int) -> list[int]:
    """Return a process's descendants, as the kernel lists them."""
    try:
        threads = list(Path(f"/proc/{process}/task").iterdir())
    except OSError:
        return []
    forked = set(chain.from_iterable(map(children, threads)))
    return [*forked, *chain.from_iterable(map(descendants, forked))]


def parent(process: int) -> int:
    """Return a process's parent, or raise `ProcessLookupError`.

    The parent forked or adopted it.
    """
    status = _read(Path(f"/proc/{process}/stat"))
    if not status:
        raise ProcessLookupError(f"process {process} has ended")
    return int(status.rpartition(")")[2].split()[1])


def children(thread: Path) -> set[int]:
    """Return the processes that a thread forked.

    Its folder in `/proc` names the thread.

    The kernel counts its way through the list, and misses one process where another before it ends during that: what
    both of two readings miss is not there.
    """
    first = _read(thread / "children")
    second = _read(thread / "children")
    return {int(word) for word in [*first.split(), *second.split()]}


def _read(path: Path) -> str:
    """Return what a file says, nothing when its thread has ended."""
    try:
        return path.read_text(encoding="ascii")
    except OSError:
        return ""
