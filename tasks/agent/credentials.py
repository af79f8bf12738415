"""Keys of endpoints: read from the environment when a client opens, and struck from whatever might be recorded."""

import os

from carryover.tasks.running.errors import UserError

STRUCK = "[key]"


class Credential:
    """An endpoint's key, held where no log, trace or `repr` shows it."""

    __slots__ = ("_key",)

    def __init__(self, key: str | None) -> None:
        self._key = key

    def reveal(self) -> str:
        """Return the key for the request header; an endpoint without one gets a word that says so."""
        return self._key or "none"

    def strike(self, text: str) -> str:
        """Return the text without the key."""
        return text.replace(self._key, STRUCK) if self._key else text

    def __repr__(self) -> str:
        return f"Credential({STRUCK if self._key else 'none'})"


def read_credential(variable: str | None) -> Credential:
    """Return the key in an environment variable, an empty one for no variable.

    Raises:
        UserError: The variable is not set.
    """
    if variable is None:
        return Credential(None)
    key = os.environ.get(variable, "").strip()
    if not key:
        raise UserError(f"the endpoint wants a key in the environment variable {variable}, which is not set; export it")
    return Credential(key)
