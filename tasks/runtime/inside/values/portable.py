"""What keeps a value from travelling, and how much of the reader's memory it may take."""

from typing import Any


class NotPortableError(Exception):
    """The value has no form in plain data."""


class Allowance:
    """Bytes that a value may take where it is read: what describes it may be far smaller than it is."""

    def __init__(self, limit_bytes: float) -> None:
        self.limit_bytes = limit_bytes
        self._left = limit_bytes

    def take(self, what: str, size_bytes: int) -> None:
        """Count a part of the value before it is built.

        Raises:
            NotPortableError: It is larger than what is left.
        """
        self._left -= size_bytes
        if self._left < 0:
            needed = self.limit_bytes - self._left
            raise NotPortableError(
                f"{what} would take some {needed:.0f} bytes or more in memory; an object may have {self.limit_bytes}"
            )


def check_keys(value: Any) -> None:
    """Raise `TypeError` for a key that would be another one on the other side: JSON has text keys alone."""
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, str):
                raise TypeError(f"keys must be str, not {type(key).__name__}")
        value = value.values()
    elif not isinstance(value, (list, tuple)):
        return
    for item in value:
        check_keys(item)
