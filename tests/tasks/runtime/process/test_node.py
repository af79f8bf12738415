"""A process that answers late is not listened to any more."""

import os
import select
import subprocess
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from carryover.tasks.runtime.inside.framing import Channel
from carryover.tasks.runtime.process import node as nodes
from carryover.tasks.runtime.process.node import Node, NodeGoneError, open_connection


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
