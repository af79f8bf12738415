"""The host's replies to calls, without a sandbox."""

import os
import socket

import pytest

from carryover.tasks.runtime.inside.framing import Channel
from carryover.tasks.runtime.inside.tools import ToolLine


@pytest.fixture
def ends():
    """The block's end of a connection, and the host's."""
    ours, theirs = socket.socketpair()
    block, host = Channel(ours), Channel(theirs)
    yield block, host
    block.close()
    host.close()


def test_objects_of_a_call_that_was_given_up_are_closed(ends, tmp_path):
    block, host = ends
    line = ToolLine()
    line.ticket = 2
    with (tmp_path / "given up").open("wb") as late, (tmp_path / "asked").open("wb") as asked:
        host.send((1, "late"), (late.fileno(),))
        host.send((2, "asked"), (asked.fileno(),))
        before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
        reply, (descriptor,) = line._receive(block)
        assert reply == "asked"
        assert os.path.samestat(os.fstat(descriptor), os.fstat(asked.fileno()))
        assert len(os.listdir("/proc/self/fd")) == before + 1  # noqa: PTH208
    os.close(descriptor)
