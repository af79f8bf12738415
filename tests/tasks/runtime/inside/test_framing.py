"""Frames from who is not trusted: how long they may be, and what may ride along."""

import contextlib
import os
import socket
from pathlib import Path
from typing import Any

import pytest

from carryover.tasks.runtime.inside import framing
from carryover.tasks.runtime.inside.framing import Channel, FrameError, FrameTooLargeError


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


def frame(payload: bytes) -> bytes:
    return len(payload).to_bytes(4, "little") + payload


class Pieces:
    """A socket that gives and takes pieces as it was told; None stands for a timeout."""

    def __init__(self, *given: bytes | None, takes: tuple[int | None, ...] = ()) -> None:
        self.given = list(given)
        self.takes = list(takes)
        self.taken: list[Any] = []

    def recv(self, _size: int) -> bytes:
        piece = self.given.pop(0)
        if piece is None:
            raise BlockingIOError
        return piece

    def send(self, content: memoryview) -> int:
        return self._take(content)

    def sendmsg(self, parts: list[memoryview], ancillary: list[Any]) -> int:
        self.taken.append(ancillary)
        return self._take(parts[0])

    def _take(self, content: memoryview) -> int:
        count = self.takes.pop(0) if self.takes else len(content)
        if count is None:
            raise BlockingIOError
        self.taken.append(bytes(content[:count]))
        return count


FRAMES = frame(b"[1]") + frame(b'{"a":2}') + frame(b"3")


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 7, 8, 11, 100])
def test_frames_arrive_in_whatever_pieces_they_come(size):
    pieces = [FRAMES[start : start + size] for start in range(0, len(FRAMES), size)]
    channel = Channel(Pieces(*pieces, b""))
    assert [channel.receive() for _ in range(3)] == [[1], {"a": 2}, 3]
    with pytest.raises(EOFError, match="the peer is gone"):
        channel.receive()


def test_waiting_that_times_out_loses_nothing():
    channel = Channel(Pieces(FRAMES[:2], None, FRAMES[2:5], None, FRAMES[5:]))
    for _ in range(2):
        with pytest.raises(BlockingIOError):
            channel.receive()
    assert [channel.receive() for _ in range(3)] == [[1], {"a": 2}, 3]


def test_frame_that_trickles_in_is_given_up_at_its_deadline(monkeypatch):
    moments = iter([5.0, 5.1, 5.2])
    monkeypatch.setattr(framing, "monotonic", lambda: next(moments))
    channel = Channel(Pieces(*(FRAMES[place : place + 1] for place in range(20))))
    channel.deadline = 5.0
    with pytest.raises(BlockingIOError):
        channel.receive()
    channel.deadline = None
    assert channel.receive() == [1]


def test_frame_may_be_as_long_as_its_limit():
    channel = Channel(Pieces(frame(b"[12]")[:4], b"[12]", frame(b"[123]")[:4]))
    channel.limit_bytes = 4
    assert channel.receive() == [12]
    with pytest.raises(FrameError, match=r"^a frame of 5 bytes$"):
        channel.receive()


@pytest.mark.parametrize("payload", [b"", b"{]", b"\xff", b"[" * 200_000], ids=["none", "broken", "bytes", "deep"])
def test_payload_that_is_no_json_is_refused(payload):
    with pytest.raises(FrameError, match=r"^frame is not valid JSON: "):
        Channel(Pieces(frame(payload))).receive()


def test_message_is_sent_in_as_many_pieces_as_are_taken(monkeypatch):
    moments = iter([5.0, 5.1])
    monkeypatch.setattr(framing, "monotonic", lambda: next(moments))
    taking = Pieces(takes=(3, None, 2))
    channel = Channel(taking)
    channel.deadline = 5.0
    channel.send([1, "a"])
    assert taking.taken == [frame(b'[1,"a"]')[:3], frame(b'[1,"a"]')[3:5], frame(b'[1,"a"]')[5:]]
    for deadline in (5.0, None):
        channel.deadline = deadline
        taking.takes = [2, None]
        with pytest.raises(BlockingIOError):
            channel.send([1])


def test_descriptors_go_with_the_first_piece():
    taking = Pieces(takes=(None, 3, 2))
    channel = Channel(taking)
    channel.deadline = 1e12
    channel.send([1], (7, 8))
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, bytes([7, 0, 0, 0, 8, 0, 0, 0]))]
    assert taking.taken == [rights, rights, frame(b"[1]")[:3], frame(b"[1]")[3:5], frame(b"[1]")[5:]]


def test_message_may_be_as_long_as_its_limit():
    taking = Pieces()
    Channel(taking).send("xx", limit_bytes=4)
    with pytest.raises(FrameTooLargeError, match=r"^a message of 5 bytes exceeds the 4 of a frame$") as raised:
        Channel(taking).send("xxx", limit_bytes=4)
    assert (raised.value.size, taking.taken) == (5, [frame(b'"xx"')])


def test_descriptors_come_with_their_message_and_are_the_caller_s(ends, sent):
    channel, theirs = ends
    socket.send_fds(theirs, [frame(b"[1]")], [sent, sent])
    theirs.sendall(frame(b"[2]"))
    message, descriptors = channel.receive_with_descriptors()
    assert (message, len(descriptors), open_count(sent)) == ([1], 2, 3)
    assert channel.receive_with_descriptors() == ([2], ())
    channel.close()
    assert open_count(sent) == 3
    assert channel.fileno() == -1
    for descriptor in descriptors:
        os.close(descriptor)


def test_channel_goes_on_over_another_connection(ends):
    channel, theirs = ends
    theirs.sendall(frame(b"[1]")[:6])
    theirs.setblocking(False)
    channel._socket.settimeout(0)
    with pytest.raises(BlockingIOError):
        channel.receive()
    ours, others = socket.socketpair()
    number = channel.fileno()
    replaced = ours.detach()
    channel.replace(replaced)
    others.sendall(frame(b"[2]"))
    assert (channel.receive(), channel.fileno()) == ([2], number)
    assert theirs.recv(10) == b"", "the former connection is closed"
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(replaced)
    others.close()
