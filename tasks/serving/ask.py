"""One question to an endpoint, outside of any conversation."""

import urllib.error
import urllib.request
from http.client import HTTPException
from typing import NamedTuple
from urllib.parse import urlsplit

from tasks.serving.process import LOOPBACK

PROBE_SECONDS = 5.0
LOOPBACK_HOSTS = ("127.0.0.1", "::1", "localhost")


class Answer(NamedTuple):
    """What came back over HTTP; an error status counts."""

    status: int
    body: bytes


def ask(url: str, key: str | None = None, *, timeout_seconds: float = PROBE_SECONDS) -> Answer | None:
    """Return what an address answers in time; none where nothing does.

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
            return Answer(status, response.read())
    except (OSError, ValueError, HTTPException):
        return None
