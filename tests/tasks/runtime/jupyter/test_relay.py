import contextlib
import socket
import tempfile
import time

import pytest

from carryover.tasks.runtime.jupyter.relay import ANSWER_BYTES, Relay, open_relay

WAIT_SECONDS = 60


@pytest.fixture
def ends():
    """A relay, its client's end and its kernel's."""
    client, theirs = socket.socketpair()
    kernel, ours = socket.socketpair()
    for end in (client, kernel):
        end.settimeout(WAIT_SECONDS)
    relay = Relay(theirs, ours)
    yield relay, client, kernel
    relay.close()
    client.close()
    kernel.close()


def read(end: socket.socket, size: int) -> bytes:
    found = b""
    while len(found) < size and (part := end.recv(size)):
        found += part
    return found


def flood(end: socket.socket) -> None:
    """Write until the other side takes no more."""
    with contextlib.suppress(OSError):
        for _ in range(1000):
            end.sendall(b"\x01\x00" * ANSWER_BYTES)


def has_closed(relay: Relay) -> bool:
    deadline = time.monotonic() + WAIT_SECONDS
    while relay.is_open and time.monotonic() < deadline:
        time.sleep(0.001)
    return not relay.is_open


def test_bytes_are_carried_both_ways(ends):
    _, client, kernel = ends
    client.sendall(b"request")
    assert read(kernel, 7) == b"request"
    kernel.sendall(b"answer")
    assert read(client, 6) == b"answer"


def test_kernel_that_sends_without_end_is_cut_off(ends):
    relay, client, kernel = ends
    flood(kernel)
    assert has_closed(relay)
    assert len(read(client, 10 * ANSWER_BYTES)) <= ANSWER_BYTES
    assert relay.carried_bytes <= 2 * ANSWER_BYTES


def test_every_request_allows_one_answer_and_no_remainder(ends):
    relay, client, kernel = ends
    for _ in range(3):
        relay.allow_answer()
        kernel.sendall(b"a" * ANSWER_BYTES)
        assert len(read(client, ANSWER_BYTES)) == ANSWER_BYTES
    for _ in range(3):
        relay.allow_answer()
    assert relay.is_open
    kernel.sendall(b"a" * (ANSWER_BYTES + 1))
    assert has_closed(relay)


@pytest.mark.parametrize("end", [1, 2], ids=["client", "kernel"])
def test_an_end_that_closes_closes_the_other(ends, end):
    ends[end].close()
    assert has_closed(ends[0])
    assert ends[3 - end].recv(1) == b""


def test_relay_closes_although_its_kernel_reads_nothing():
    client, theirs = socket.socketpair()
    kernel, ours = socket.socketpair()
    with client, kernel:
        client.settimeout(0.05)
        relay = Relay(theirs, ours)
        with contextlib.suppress(TimeoutError):
            client.sendall(bytes(64 << 20))
        relay.close()
    assert not relay.is_open


def test_paths_are_gone_once_both_are_connected(monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with socket.socket(socket.AF_UNIX) as client:
        relay, listener = open_relay(lambda path: client.connect(str(path)))
        assert list(tmp_path.iterdir()) == []
        with listener, listener.accept()[0] as kernel:
            client.sendall(b"request")
            assert read(kernel, 7) == b"request"
        relay.close()


def test_client_that_cannot_connect_leaves_no_path(monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with socket.socket(socket.AF_UNIX) as client, pytest.raises(FileNotFoundError):
        open_relay(lambda path: client.connect(f"{path}-other"))
    assert list(tmp_path.iterdir()) == []


def test_folder_with_too_long_a_path_is_named(tmp_path, monkeypatch):
    folder = tmp_path / ("long" * 30)
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    with pytest.raises(OSError, match=f"{folder}.*AF_UNIX path too long.*set TMPDIR"):
        open_relay(lambda _: None)
    assert not list(folder.iterdir())
