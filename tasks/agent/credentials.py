"""Addresses and keys of endpoints; a key is never recorded."""

import os
from contextlib import suppress
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, SecretStr

from carryover.tasks.services.errors import UserError

LOOPBACK_HOSTS = ("127.0.0.1", "::1", "localhost")
BLOCK_PREFIX = "secret/"
"""Begins the name of a key that a Prefect Secret block holds; any other name is an environment variable."""

_held: dict[str, str] = {}


def hold_key(name: str, key: str) -> None:
    """Hold a Secret block's key for this process, not its children."""
    _held[name] = key


def find_key(name: str) -> str:
    """Return the key of a held block or environment variable, or ""."""
    return (_held.get(name) or os.environ.get(name, "")).strip()


def place_of_key(name: str) -> str:
    """Return where a key is looked for, in words."""
    return f"the {'Secret block' if name.startswith(BLOCK_PREFIX) else 'environment variable'} {name}"


def read_key(variable: str | None) -> SecretStr | None:
    """Return a plan's key, None without a name; raise `UserError` if unset."""
    if variable is None:
        return None
    key = find_key(variable)
    if not key:
        raise UserError(f"missing API key: {place_of_key(variable)} is not set; export it")
    return SecretStr(key)


def plain_address(address: str) -> str:
    """Return an endpoint's address without a slash at its end.

    Raises:
        UserError: It is no HTTP address, or holds more than a host and a path, where credentials are. The message does
            not repeat it; Pydantic would add the value to a `ValueError`.
    """
    parts = None
    with suppress(ValueError):  # a bracket is left open
        parts = urlsplit(address)
    if parts is None or parts.scheme not in ("http", "https") or not parts.hostname:
        raise UserError("an endpoint's url must be an http address; write e.g. http://127.0.0.1:8000/v1")
    if "@" in parts.netloc:
        raise UserError("an endpoint's url carries a credential; name an environment variable that holds it instead")
    if "?" in address or "#" in address:
        raise UserError(
            "an endpoint's url has a query or fragment; remove it, and name an environment variable that holds the key"
        )
    return address.rstrip("/")


PlainAddress = Annotated[str, AfterValidator(plain_address)]
"""An endpoint's address as a field."""
