"""Frames from who is not trusted: how long they may be, and what may ride along."""

import socket
from pathlib import Path

import pytest

from tasks.runtime.inside.wire import Channel, FrameError


@pytest.fixture
def ends():
    """A channel, and the socket that its peer writes to as it likes."""
    ours, theirs = socket.socketpair()
    channel = Channel(ours)
    yield channel, theirs
    channel.close()
    theirs.close()


def open_count() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_longer_frame_than_allowed_is_refused_at_its_head(ends):
    channel, theirs = ends
    channel.limit_bytes = 10
    theirs.sendall((11).to_bytes(4, "little"))
    with pytest.raises(FrameError, match="a frame of 11 bytes"):
        channel.receive()


def test_frame_that_comes_with_many_descriptors_is_refused_and_they_are_closed(ends):
    channel, theirs = ends
    before = open_count()
    theirs.sendall((100).to_bytes(4, "little"))
    for _ in range(2):
        socket.send_fds(theirs, [b"x"], [0, 0])
    with pytest.raises(FrameError, match="a frame with more than 2 descriptors"):
        channel.receive_with_descriptors()
    assert open_count() == before


def test_descriptors_of_a_frame_that_never_ended_are_closed_with_the_channel(ends):
    channel, theirs = ends
    before = open_count()
    socket.send_fds(theirs, [(100).to_bytes(4, "little")], [0])
    theirs.shutdown(socket.SHUT_WR)
    with pytest.raises(EOFError):
        channel.receive_with_descriptors()
    channel.close()
    assert open_count() == before - 1
