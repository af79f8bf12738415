"""The body of a request, of which no more is read or kept than is allowed."""

import asyncio
from typing import Any

import pytest

from carryover.tasks.serving.cpu import api
from carryover.tasks.serving.cpu.api import ApiError, read_body


class Sender:
    """A client that goes on sending, and what was taken from it."""

    def __init__(self, *chunks):
        self.chunks = chunks
        self.taken = 0

    async def stream(self):
        for chunk in self.chunks:
            self.taken += 1
            yield chunk


@pytest.fixture(autouse=True)
def small_limits(monkeypatch):
    monkeypatch.setattr(api, "BODY_BYTES", 10)
    monkeypatch.setattr(api, "UNREAD_BYTES", 20)


def test_a_body_of_the_limit_is_read_whole():
    sender: Any = Sender(b"123456", b"7890")
    assert asyncio.run(read_body(sender)) == b"1234567890"


@pytest.mark.parametrize(("count", "taken"), [(2, 2), (100, 4)])
def test_a_larger_body_is_refused_and_read_no_further(count, taken):
    sender: Any = Sender(*[b"123456"] * count)
    with pytest.raises(ApiError, match="larger than 10 bytes"):
        asyncio.run(read_body(sender))
    assert sender.taken == taken
