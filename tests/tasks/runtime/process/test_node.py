"""A process that answers late is not listened to any more."""

import os
import select
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from carryover.tasks.runtime.inside.framing import Channel
from carryover.tasks.runtime.process import node as nodes
from carryover.tasks.runtime.process.node import (
    Canaries,
    ForkState,
    Node,
    NodeGoneError,
    open_connection,
    receive_handle,
)


class Pair(NamedTuple):
    node: Node
    sandbox: Channel


@pytest.fixture
def pair() -> Iterator[Pair]:
    """A process that does nothing, and the end of its connection for the test to answer on."""
    process = subprocess.Popen(["sleep", "infinity"])
    ours, theirs = open_connection()
    node = Node(ours, os.pidfd_open(process.pid))
    yield Pair(node, Channel(theirs))
    node.close()
    process.wait()


def has_ended(node: Node) -> bool:
    poll = select.poll()
    poll.register(node.handle, select.POLLIN)
    return bool(poll.poll(10_000))


def open_descriptors() -> set[str]:
    return {entry.name for entry in Path("/proc/self/fd").iterdir()}


def test_process_that_does_not_answer_is_ended(pair, monkeypatch):
    monkeypatch.setattr(nodes, "_REPLY_SECONDS", 0.0)
    with pytest.raises(NodeGoneError, match="does not answer"):
        pair.node.ask(("types",))
    assert has_ended(pair.node)


def test_late_answer_is_not_read_for_the_next_question(pair, monkeypatch):
    monkeypatch.setattr(nodes, "_REPLY_SECONDS", 0.0)
    with pytest.raises(NodeGoneError):
        pair.node.ask(("fetch", "x"))
    assert has_ended(pair.node)
    pair.sandbox.close()
    monkeypatch.undo()
    with pytest.raises(NodeGoneError, match="has ended"):
        pair.node.ask(("types",))


def test_answer_that_came_in_time_is_returned(pair):
    pair.sandbox.send(("answer", 1))
    assert pair.node.ask(("types",)) == 1
    assert pair.node.is_alive()


def test_waiting_ends_with_the_process(pair):
    assert pair.node.receive() is None
    pair.node.end()
    assert has_ended(pair.node)
    with pytest.raises(NodeGoneError, match="has ended"):
        pair.node.receive()


def test_process_that_reads_nothing_is_ended(pair, monkeypatch):
    monkeypatch.setattr(nodes, "_SEND_SECONDS", 0.0)
    with pytest.raises(NodeGoneError, match="does not answer"):
        pair.node.send("x" * (4 << 20))
    assert has_ended(pair.node)


def test_a_fork_s_handle_may_come_after_a_tick(pair, tmp_path):
    file = os.open(tmp_path, os.O_RDONLY)
    deadlines = []

    def resume() -> None:
        deadlines.append(pair.node.channel.deadline)
        pair.sandbox.send(["forked", ["x", None], False, 2, True], (file,))

    handle, state = receive_handle(pair.node.channel, resume)
    assert os.path.samestat(os.fstat(handle), os.fstat(file))
    assert state == ForkState(Canaries("x", None), has_strays=False, thread_count=2, has_output=True)
    assert len(deadlines) == 1
    assert deadlines[0] is not None, "a handle that trickles in would be waited for without end"
    os.close(handle)
    os.close(file)


def test_silent_fork_is_given_up(pair, monkeypatch):
    monkeypatch.setattr(nodes, "_REPLY_SECONDS", 0.0)
    with pytest.raises(NodeGoneError, match="does not answer"):
        receive_handle(pair.node.channel)


@pytest.mark.parametrize("message", [["forked", ["x", None], False, 2], ["ran"]])
def test_other_words_than_a_fork_s_leave_no_descriptor_open(pair, tmp_path, message):
    before = open_descriptors()
    file = os.open(tmp_path, os.O_RDONLY)
    pair.sandbox.send(message, (file,))
    os.close(file)
    with pytest.raises(NodeGoneError, match="was written to by a block"):
        receive_handle(pair.node.channel)
    assert open_descriptors() == before


def test_a_fork_s_reply_that_is_no_frame_is_refused():
    ours, theirs = open_connection()
    theirs.sendall((3).to_bytes(4, "little") + b"{]}")
    with pytest.raises(NodeGoneError, match="was written to by a block"):
        receive_handle(ours)
    theirs.close()
    with pytest.raises(NodeGoneError, match="has ended"):
        receive_handle(ours)
    ours.close()


def test_an_ended_process_has_no_threads():
    process = subprocess.Popen(["sleep", "infinity"])
    ours, theirs = open_connection()
    node = Node(ours, os.pidfd_open(process.pid))
    assert (node.process_id(), node.thread_count()) == (process.pid, 1)
    node.end()
    process.wait()
    assert node.thread_count() == 0
    theirs.close()
    node.close()
