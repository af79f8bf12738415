"""Addresses of endpoints, which are kept with the plan and printed, and so hold no credential."""

from urllib.parse import SplitResult, urlsplit

from carryover.tasks.running.errors import UserError


def plain_address(address: str) -> str:
    """Return an endpoint's address without a slash at its end.

    Raises:
        UserError: It is none over HTTP, or holds more than a host and a path, where credentials are. The text does not
            repeat it, and no library's does: a validator's `ValueError` would be told together with its value.
    """
    parts = _split(address)
    if parts is None or parts.scheme not in ("http", "https") or not parts.hostname:
        raise UserError("an endpoint's url must be an http address; write e.g. http://127.0.0.1:8000/v1")
    if "@" in parts.netloc:
        raise UserError("an endpoint's url carries a credential; name an environment variable that holds it instead")
    if "?" in address or "#" in address:
        raise UserError(
            "an endpoint's url ends with its path, and nothing after ? or # is sent; leave that out, and name an "
            "environment variable that holds the key"
        )
    return address.rstrip("/")


def _split(address: str) -> SplitResult | None:
    """Return the parts of an address; none where a bracket is left open."""
    try:
        return urlsplit(address)
    except ValueError:
        return None
