"""Frames from who is not trusted: how long they may be, and what may ride along."""

import contextlib
import os
import socket
from pathlib import Path

import pytest

from carryover.tasks.runtime.inside.framing import Channel, FrameError


@pytest.fixture
def ends():
    """A channel, and the socket that its peer writes to as it likes."""
    ours, theirs = socket.socketpair()
    channel = Channel(ours)
    yield channel, theirs
    channel.close()
    theirs.close()


@pytest.fixture
def sent():
    """A file that nobody else in this process has open."""
    descriptor = os.memfd_create("sent")
    yield descriptor
    os.close(descriptor)


def open_count(descriptor: int) -> int:
    """Return how many descriptors of this process lead to the same file."""
    count, file = 0, os.fstat(descriptor)
    for entry in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):  # closed since it was listed
            count += os.path.samestat(entry.stat(), file)
    return count


def test_longer_frame_than_allowed_is_refused_at_its_head(ends):
    channel, theirs = ends
    channel.limit_bytes = 10
    theirs.sendall((11).to_bytes(4, "little"))
    with pytest.raises(FrameError, match="a frame of 11 bytes"):
        channel.receive()


class CountingSocket(socket.socket):
    """A socket that notes how much each read asks for."""

    def __init__(self, descriptor):
        super().__init__(fileno=descriptor)
        self.asked = []

    def recv(self, size, flags=0):
        self.asked.append(size)
        return super().recv(size, flags)


def test_reads_are_bounded_whatever_length_is_announced():
    ours, theirs = socket.socketpair()
    counting = CountingSocket(ours.detach())
    channel = Channel(counting)
    theirs.sendall((1 << 20).to_bytes(4, "little") + b"x" * 5000)
    theirs.close()
    with pytest.raises(EOFError):
        channel.receive()
    channel.close()
    assert (counting.asked[0], max(counting.asked)) == (2048, 1 << 18)


def test_frame_with_many_descriptors_is_refused_and_they_are_closed(ends, sent):
    channel, theirs = ends
    theirs.sendall((100).to_bytes(4, "little"))
    for _ in range(2):
        socket.send_fds(theirs, [b"x"], [sent, sent])
    with pytest.raises(FrameError, match="a frame with more than 2 descriptors"):
        channel.receive_with_descriptors()
    assert open_count(sent) == 1


def test_descriptors_of_an_unfinished_frame_close_with_the_channel(ends, sent):
    channel, theirs = ends
    socket.send_fds(theirs, [(100).to_bytes(4, "little")], [sent])
    theirs.shutdown(socket.SHUT_WR)
    with pytest.raises(EOFError):
        channel.receive_with_descriptors()
    channel.close()
    assert open_count(sent) == 1


def test_messages_are_compact_json_in_key_order(ends):
    channel, peer = ends
    channel.send({"b": 1, "a": [None, float("nan"), "é"]})
    expected = b'{"b":1,"a":[null,NaN,"\\u00e9"]}'
    assert peer.recv(100) == len(expected).to_bytes(4, "little") + expected
    with pytest.raises(TypeError):
        channel.send({("a", "b"): 1})
