"""Processes that descend from another."""

from pathlib import Path


def descendants(process: int) -> list[int]:
    """Return the processes that descend from one, as the kernel lists them now: by the thread that forked each."""
    try:
        threads = list(Path(f"/proc/{process}/task").iterdir())
    except OSError:
        return []
    children = [int(word) for thread in threads for word in _read(thread / "children").split()]
    return children + [other for child in children for other in descendants(child)]


def _read(path: Path) -> str:
    """Return what a file says, nothing when its thread has ended."""
    try:
        return path.read_text(encoding="ascii")
    except OSError:
        return ""
