"""One question to an endpoint, outside of any conversation."""

import urllib.error
import urllib.request
from http.client import HTTPException
from typing import NamedTuple
from urllib.parse import urlsplit

from carryover.tasks.agent.credentials import LOOPBACK_HOSTS
from carryover.tasks.serving.process import LOOPBACK

PROBE_SECONDS = 5.0
LARGEST_BODY = 16 * 2**20
"""Bytes of an answer that are read; more than any listing has."""


class Answer(NamedTuple):
    """What came back over HTTP; an error status counts."""

    status: int
    body: bytes
    error_code: str | None = None
    """What a model hub says of a refusal, e.g. `GatedRepo`."""


class NoAnswer(NamedTuple):
    """Nothing came back over HTTP."""

    reason: str
    """What kept it, in words that hold neither the key nor more of the address than its host."""


def ask(url: str, key: str | None = None, *, timeout_seconds: float = PROBE_SECONDS) -> Answer | NoAnswer:
    """Return what an address answers in time, or why nothing does.

    A key is shown to that address only, not where it redirects to, and no proxy stands between us and this machine.
    """
    try:
        # Some providers turn away the name that Python gives itself, with the status of a refused key.
        request = urllib.request.Request(url, headers={"User-Agent": "carryover"})
        if key is not None:
            request.add_unredirected_header("Authorization", f"Bearer {key}")
        is_local = urlsplit(url).hostname in LOOPBACK_HOSTS
        try:
            response = (LOOPBACK.open if is_local else urllib.request.urlopen)(request, timeout=timeout_seconds)
            status = response.status
        except urllib.error.HTTPError as error:
            response, status = error, error.code
        with response:
            body = response.read(LARGEST_BODY + 1)
            if len(body) > LARGEST_BODY:
                return NoAnswer("the answer is too long")
            if getattr(response, "length", None):
                return NoAnswer("the answer broke off")
            return Answer(status, body, response.headers.get("X-Error-Code"))
    except OSError as error:
        cause = error.reason if isinstance(error, urllib.error.URLError) else error
        return NoAnswer((cause.strerror if isinstance(cause, OSError) else None) or str(cause))
    except (ValueError, HTTPException) as error:  # whose text may quote the key or the address
        return NoAnswer(f"nothing to ask or to read: {type(error).__name__}")
