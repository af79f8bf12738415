"""One question to an endpoint, outside of any conversation."""

import re
from typing import NamedTuple

import httpx

from carryover.tasks.agent.credentials import LOOPBACK_HOSTS

LARGEST_BODY = 16 * 2**20
"""Bytes of an answer that are read; more than any listing has."""


class HttpAnswer(NamedTuple):
    """An HTTP response; an error status counts."""

    status: int
    body: bytes
    error_code: str | None = None
    """A model hub's code for a refusal, e.g. `GatedRepo`."""


class NoAnswer(NamedTuple):
    """Nothing came back over HTTP."""

    reason: str
    """Reason, without the key; of the URL only the host."""


def ask(url: str, key: str | None = None, *, timeout_seconds: float = 5.0) -> HttpAnswer | NoAnswer:
    """Return what an address answers in time, or why nothing does.

    No key follows a redirect to another origin, and no proxy stands between us and this machine.
    """
    # Some providers turn away the name that a library gives itself, with the status of a refused key.
    headers = {"User-Agent": "carryover"}
    if key is not None:
        headers["Authorization"] = f"Bearer {key}"
    body = b""
    try:
        is_local = httpx.URL(url).host in LOOPBACK_HOSTS
        with httpx.stream(
            "GET", url, headers=headers, timeout=timeout_seconds, follow_redirects=True, trust_env=not is_local
        ) as response:
            for part in response.iter_bytes():
                body += part
                if len(body) > LARGEST_BODY:
                    return NoAnswer("the answer is too long")
            return HttpAnswer(response.status_code, body, response.headers.get("X-Error-Code"))
    except (httpx.NetworkError, httpx.TimeoutException, httpx.RemoteProtocolError) as error:
        return NoAnswer(re.sub(r"^\[Errno -?\d+\] ", "", str(error)) or type(error).__name__)
    except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:  # whose text may quote the key or the address
        return NoAnswer(f"nothing to ask or to read: {type(error).__name__}")
