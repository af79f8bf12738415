"""Ending what blocks forked: by handles, so that nobody else is met, and never instead of ending the root."""

import contextlib
import errno
import os
import socket

import pytest

from carryover.tasks.runtime.fork_tree.fork_engine import Root
from carryover.tasks.runtime.inside.framing import Channel
from carryover.tasks.runtime.process import strays
from carryover.tasks.runtime.process.descendants import descendants
from carryover.tasks.runtime.process.node import Node
from carryover.tasks.runtime.process.strays import end_all, end_strays
from tests.tasks.runtime.process.started import FORKS, Renumbered, has_ended, started


class Denied(Node):
    """Has a number that nobody may ask for."""

    def process_id(self) -> int:
        raise PermissionError("not allowed")


def test_what_a_root_forked_ends_and_the_root_stays():
    with started(FORKS) as (root, child):
        end_strays(root)
        assert has_ended(child)
        assert root.is_alive()


MANY = """
import os, time
ready, told = os.pipe()
for _ in range(16):
    if os.fork() == 0:
        held = b'x' * (8 << 20)  # a process with memory takes longer to end
        os.nice(19)
        os.write(told, b'x')
        time.sleep(600)
for _ in range(16):
    os.read(ready, 1)
print(flush=True)
input()
"""


def test_strays_have_ended_before_the_next_block():
    with started(MANY) as (root, _), contextlib.ExitStack() as opened:
        handles = [os.pidfd_open(process) for process in descendants(root.process_id())]
        for handle in handles:
            opened.callback(os.close, handle)
        end_strays(root)
        assert [has_ended(handle, 0) for handle in handles] == [True] * 16


def test_strays_end_although_their_time_is_over_at_once(monkeypatch):
    monkeypatch.setattr(strays, "_GIVE_UP_SECONDS", 0.0)
    with started(FORKS) as (root, child):
        end_strays(root)
        assert has_ended(child)


def test_reused_number_of_an_ended_root_stops_no_stranger():
    with started(FORKS) as (innocent, child), started(kind=Renumbered) as (root, _):
        assert isinstance(root, Renumbered)
        root.end()
        assert has_ended(root.handle)
        root.other = innocent
        end_strays(root)
        assert not has_ended(child, 0.2)


def test_root_ends_without_descriptors_left_for_its_forks(monkeypatch):
    def refuse(*_):
        raise OSError(errno.EMFILE, "Too many open files")

    with started(FORKS) as (root, _):
        monkeypatch.setattr(os, "pidfd_open", refuse)
        with pytest.raises(OSError, match="Too many open files"):
            end_all(root)
        assert has_ended(root.handle)


def test_root_ends_although_what_it_forked_cannot_be_looked_for():
    ours, theirs = socket.socketpair()
    with started() as (node, child), theirs:
        denied = Denied(Channel(ours), os.dup(node.handle))
        with pytest.raises(PermissionError):
            Root(denied, lambda: None).release()
        assert has_ended(child)
        assert ours.fileno() == -1


def test_a_stray_that_cannot_be_killed_is_not_waited_for(monkeypatch):
    def refuse(handle, number):
        raise PermissionError("not allowed")

    waited = []
    with started(FORKS) as (root, _):
        with monkeypatch.context() as denied:
            denied.setattr(strays.signal, "pidfd_send_signal", refuse)
            denied.setattr(strays, "_wait_until_ended", lambda handles, deadline: waited.extend(handles))
            end_strays(root)
        end_strays(root)
    assert waited == []
