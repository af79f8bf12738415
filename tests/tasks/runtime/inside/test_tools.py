"""The host's replies to calls, without a sandbox."""

import os
import socket
import threading
from typing import Any

import pytest

from carryover.tasks.runtime.inside import tools
from carryover.tasks.runtime.inside.framing import CALL_LIMIT_BYTES, Channel
from carryover.tasks.runtime.inside.tools import (
    StepTimeout,
    ToolError,
    ToolInvocationException,
    ToolLine,
    ToolRuntimeException,
    make_stub,
)
from carryover.tasks.runtime.inside.values.tree import decode, encode
from carryover.tasks.runtime.objects import SharedMemory, sealed


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


@pytest.fixture
def line(ends):
    """A line that is open to this process."""
    opened = ToolLine()
    opened.open(ends[0], os.getpid())
    return opened


def open_count() -> int:
    return len(os.listdir("/proc/self/fd"))  # noqa: PTH208


def blob_of(value: Any) -> bytearray:
    encoded = encode(value)
    blob = bytearray(encoded.size)
    encoded.write(memoryview(blob))
    return blob


@pytest.mark.parametrize("takes_objects", [False, True])
def test_call_is_numbered_and_returns_the_host_s_value(ends, line, takes_objects):
    _, host = ends
    stub = make_stub(line, "add", "Adds.", takes_objects=takes_objects)
    for number in (1, 2):
        host.send((number - 1, ("value", "late")))  # the reply to a call that was given up
        host.send((number, ("value", [number])))
        assert stub(1, second=2) == [number]
        assert host.receive() == ["call", number, "add", [1], {"second": 2}]
    assert (stub.__name__, stub.__qualname__, stub.__module__, stub.__doc__) == ("add", "add", "__main__", "Adds.")
    assert not line.is_main_thread_calling


@pytest.mark.parametrize(
    ("name", "bases"),
    [
        ("ToolRuntimeException", (ToolError,)),
        ("ToolInvocationException", (ToolError,)),
        ("ToolCallLimitError", (ToolError,)),
        ("KeyError", (ToolError, KeyError)),
        ("KeyboardInterrupt", (ToolError,)),
        ("print", (ToolError,)),
        ("Refused", (ToolError,)),
    ],
)
def test_error_of_the_host_is_raised_under_its_name(ends, line, name, bases):
    ends[1].send((1, ("error", name, "not now", 7)))
    with pytest.raises(ToolError) as raised:
        line.call("look", (), {})
    kind = type(raised.value)
    assert (kind.__name__, kind.__module__, kind.__bases__) == (name, "builtins", bases)
    assert (raised.value.args, raised.value.__dict__) == (("not now",), {"call": 7})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (({1},), "echo: arguments must be plain JSON values (set is not JSON serializable)"),
        (({1: 2},), "echo: arguments must be plain JSON values (keys must be str, not int)"),
        (("x" * CALL_LIMIT_BYTES,), f"echo: arguments must take {CALL_LIMIT_BYTES} bytes at most, and not "),
    ],
)
def test_arguments_that_json_does_not_carry_are_refused(line, arguments, message):
    with pytest.raises(ToolInvocationException) as raised:
        line.call("echo", arguments, {})
    assert str(raised.value).startswith(message)
    assert not line.is_main_thread_calling


def test_only_a_running_block_s_own_process_calls(ends, line):
    message = "add can be called only by a running block, from its own process"
    line.open(ends[0], os.getpid() + 1)
    with pytest.raises(ToolRuntimeException, match=message):
        line.call("add", (), {})
    line.open(ends[0], os.getpid())
    line.close()
    with pytest.raises(ToolRuntimeException, match=message):
        line.call("add", (), {})
    with pytest.raises(ToolRuntimeException, match=message):
        ToolLine().call("add", (), {})
    assert line.ticket == 0


class Interrupting:
    """A channel on which an interrupt comes while a call waits for its reply."""

    def __init__(self, line: ToolLine) -> None:
        self.line = line

    def send(self, *_message: Any, **_options: Any) -> None:
        self.was_calling = self.line.is_main_thread_calling
        self.line.is_interrupt_pending = True

    def receive(self) -> Any:
        return [self.line.ticket, ["value", 5]]


def test_interrupt_during_a_call_is_raised_after_it():
    line = ToolLine()
    channel: Any = Interrupting(line)
    line.open(channel, os.getpid())
    with pytest.raises(StepTimeout):
        line.call("add", (), {})
    assert (channel.was_calling, line.is_main_thread_calling, line.is_interrupt_pending) == (True, False, False)


def test_interrupt_waits_for_the_main_thread():
    line = ToolLine()
    channel: Any = Interrupting(line)
    line.open(channel, os.getpid())
    found = []
    thread = threading.Thread(target=lambda: found.append(line.call("add", (), {})))
    thread.start()
    thread.join()
    assert (found, channel.was_calling, line.is_interrupt_pending) == ([5], False, True)
    line.is_main_thread_calling = True
    line.renew()
    assert (line.is_main_thread_calling, line.is_interrupt_pending) == (False, False)


@pytest.mark.parametrize("takes_objects", [False, True])
def test_process_ends_with_the_host(ends, line, monkeypatch, takes_objects):
    def leave(code: int) -> None:
        raise SystemExit(code)

    monkeypatch.setattr(tools, "_exit", leave)
    ends[1].send((5, ("value", 1)))
    threading.Thread(target=lambda: (ends[1].receive(), ends[1].close())).start()
    with pytest.raises(SystemExit) as left:
        line.call("add", (), {}, takes_objects=takes_objects)
    assert left.value.code == 0


def test_values_beyond_json_go_through_memory_both_ways(ends, line):
    _, host = ends
    given = blob_of((({1, 2},), {"second": 1j}))
    memory, result = SharedMemory(len(given)), sealed(blob_of({3, 4}))
    before = open_count()
    host.send((1, ("fill",)), (memory.descriptor,))
    host.send((1, ("object", result.size)), (result.descriptor,))
    assert line.call("add", ({1, 2},), {"second": 1j}, takes_objects=True) == {3, 4}
    assert host.receive() == ["offer", 1, "add", len(given), []]
    assert host.receive() == ["filled", 1]
    assert decode(memory.view(), {}) == (({1, 2},), {"second": 1j})
    assert open_count() == before


def test_large_json_goes_through_memory_where_objects_may(ends, line):
    ends[1].send((1, ("refused", "too large")))
    with pytest.raises(ToolInvocationException, match=r"^add: too large$"):
        line.call("add", ("x" * CALL_LIMIT_BYTES,), {}, takes_objects=True)
    assert ends[1].receive()[:3] == ["offer", 1, "add"]


@pytest.mark.parametrize(("arguments", "keywords"), [((print,), {}), ((), {"a": print})])
def test_arguments_that_do_not_travel_are_refused(line, arguments, keywords):
    with pytest.raises(ToolInvocationException, match=r"^add: a value of type builtin_function_or_method does not"):
        line.call("add", arguments, keywords, takes_objects=True)


def test_result_is_read_with_the_block_s_classes_and_objects(ends, line):
    blob = bytearray(b'[[0],[["class.reference",["table","Table"]]]]')
    whole = sealed((len(blob).to_bytes(8, "little") + blob).ljust(64, b"\0"))
    for _ in range(2):
        ends[1].send((line.ticket + 1, ("object", whole.size)), (whole.descriptor,))
        if line.ticket:
            line.refer = lambda *said: said
            assert line.call("find", (), {}, takes_objects=True) == ("table", "Table")
        else:
            with pytest.raises(Exception, match="no object of the host's can be held here"):
                line.call("find", (), {}, takes_objects=True)
