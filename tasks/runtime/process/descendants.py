"""Processes that descend from another, and the one that it descends from."""

from pathlib import Path


def descendants(process: int) -> list[int]:
    """Return the processes that descend from one, as the kernel lists them now: by the thread that forked each."""
    try:
        threads = list(Path(f"/proc/{process}/task").iterdir())
    except OSError:
        return []
    children = [int(word) for thread in threads for word in _read(thread / "children").split()]
    return children + [other for child in children for other in descendants(child)]


def parent(process: int) -> int:
    """Return the process that forked another or adopted it.

    Raises:
        ProcessLookupError: There is no such process.
    """
    status = _read(Path(f"/proc/{process}/stat"))
    if not status:
        raise ProcessLookupError(f"process {process} has ended")
    return int(status.rpartition(")")[2].split()[1])


def _read(path: Path) -> str:
    """Return what a file says, nothing when its thread has ended."""
    try:
        return path.read_text(encoding="ascii")
    except OSError:
        return ""
