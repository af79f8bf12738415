"""What keeps a value from travelling, and how much of the reader's memory it may take."""


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
