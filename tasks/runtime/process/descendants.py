"""Processes that descend from another."""

from pathlib import Path


def descendants(process: int) -> list[int]:
    """Return the processes that descend from one, as the kernel lists them now."""
    try:
        listed = Path(f"/proc/{process}/task/{process}/children").read_text(encoding="ascii")
    except OSError:
        return []
    children = [int(word) for word in listed.split()]
    return children + [other for child in children for other in descendants(child)]
