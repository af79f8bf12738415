"""Jupyter's messages with a kernel, and what a front end publishes, without a kernel."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
import zmq

from carryover.tasks.runtime.jupyter import kernel as kernel_module
from carryover.tasks.runtime.jupyter.front_end import EpisodeKernel
from carryover.tasks.runtime.jupyter.kernel import Kernel
from carryover.tasks.runtime.process.node import NodeGoneError
from carryover.tasks.runtime.results import BlockError, BlockResult


class Wire:
    """A kernel's sockets and node: messages come as they are given."""

    def __init__(self, *messages):
        self.messages = list(messages)
        self.sent = []
        self.resumed = 0
        self.polls = 0
        self.is_alive = True

    def kernel(self) -> Any:
        made: Any = Kernel.__new__(Kernel)
        made._shell = SimpleNamespace(poll=self.poll)
        made._relay = SimpleNamespace(is_open=True, allow_answer=lambda: self.sent.append("allowed"))
        made._session = SimpleNamespace(recv=self.receive, send=self.send)
        made._request = "r-1"
        made.node = SimpleNamespace(is_alive=lambda: self.is_alive, resume=self.resume, ask=self.ask)
        made.folder = None
        return made

    def poll(self, milliseconds):
        self.polls += 1
        return bool(self.messages) and self.messages[0] is not None

    def resume(self):
        self.resumed += 1
        self.messages.pop(0) if self.messages else None

    def receive(self, _shell):
        message = self.messages.pop(0)
        if isinstance(message, Exception):
            raise message
        return None, message

    def send(self, _shell, kind, content, metadata):
        self.sent.append((kind, content, metadata))
        return {"header": {"msg_id": "r-1"}}

    def ask(self, *message):
        self.sent.append(message)
        return "answer"


def reply(to, **expressions):
    return {"parent_header": {"msg_id": to}, "content": {"user_expressions": expressions} if expressions else {}}


def test_the_reply_to_the_own_request_is_awaited():
    wire = Wire(None, reply("another"), reply("r-1", has_output=False))
    assert wire.kernel().settle() is False
    assert wire.resumed == 1
    assert Wire(reply("r-1")).kernel().settle() is True


@pytest.mark.parametrize("state", ["late", "dead", "closed"])
def test_a_kernel_that_does_not_answer_is_gone(state):
    wire = Wire()
    kernel = wire.kernel()
    wire.is_alive = state != "dead"
    kernel._relay.is_open = state != "closed"
    with pytest.raises(NodeGoneError, match=r"^the kernel does not answer$"):
        kernel.settle(0.0 if state == "late" else 30.0)
    assert wire.polls == 0


def test_a_message_that_cannot_be_read_is_a_blocks():
    for message in (ValueError("bad signature"), {}):
        with pytest.raises(NodeGoneError, match=r"^the kernel's connection was written to by a block"):
            Wire(message).kernel().settle()


SILENT = {"silent": True, "store_history": False, "allow_stdin": False}


def test_a_step_is_a_silent_cell_with_its_seed():
    wire = Wire()
    wire.kernel().execute(3, "5eed", "x = 1")
    assert wire.sent == ["allowed", ("execute_request", {"code": "x = 1", **SILENT}, {"step": 3, "seed": "5eed"})]


def test_a_question_is_asked_by_an_empty_cell_and_settled():
    wire = Wire(reply("r-1"))
    assert wire.kernel().ask(("canaries",), (4,), 100) == "answer"
    assert wire.sent == ["allowed", ("execute_request", {"code": "", **SILENT}, {}), (("canaries",), (4,), 100)]
    assert wire.messages == []


def test_a_closed_connection_takes_no_request():
    kernel = Wire().kernel()
    kernel._relay.is_open = False
    with pytest.raises(NodeGoneError, match=r"^the kernel's connection is closed$"):
        kernel.execute(1, "s", "x")

    def refuse(*_given, **_named):
        raise zmq.ZMQError(zmq.EAGAIN)

    kernel = Wire().kernel()
    kernel._session.send = refuse
    with pytest.raises(NodeGoneError, match="Resource temporarily unavailable"):
        kernel.execute(1, "s", "x")


def test_a_kernel_tells_its_folder_or_none():
    kernel = Wire().kernel()
    assert kernel.folder_settings(keeps=True) is None
    kernel.folder = SimpleNamespace(settings=lambda *, keeps: f"settings, keeps {keeps}")
    assert kernel.folder_settings(keeps=False) == "settings, keeps False"


@pytest.mark.parametrize("is_alive", [True, False])
def test_strays_are_stopped_and_ended_while_their_keeper_lives(monkeypatch, is_alive):
    told = []
    kernel = Wire().kernel()
    kernel.node.handle = 7
    kernel.keeper = SimpleNamespace(is_alive=lambda: is_alive)

    def send(handle, sent):
        told.append((handle, sent))
        raise ProcessLookupError

    monkeypatch.setattr(kernel_module.signal, "pidfd_send_signal", send)
    monkeypatch.setattr(kernel_module, "end_strays", told.append)
    kernel._end_strays()
    assert told == ([(7, kernel_module.signal.SIGSTOP), kernel.keeper] if is_alive else [])


@pytest.fixture
def front_end(monkeypatch):
    """A front end on an episode of given results; return it with what it published."""
    published = []
    front_end: Any = EpisodeKernel()
    front_end.execution_count = 4
    closed = []

    def attach(result):
        published.clear()
        front_end.interpreter = SimpleNamespace(run_block=lambda code: result, close=lambda: closed.append(1))
        return front_end

    monkeypatch.setattr(
        EpisodeKernel, "send_response", lambda _, socket, kind, content: published.append((kind, content))
    )
    return attach, published, closed


def test_a_cell_publishes_output_value_and_notices(front_end):
    attach, published, _ = front_end
    kernel = attach(BlockResult(output="printed\n", result="3", notices=("one", "two")))
    replied = asyncio.run(kernel.do_execute("1 + 2", False))
    assert replied == {"execution_count": 4, "status": "ok", "payload": [], "user_expressions": {}}
    assert published == [
        ("stream", {"name": "stdout", "text": "printed\n"}),
        ("execute_result", {"data": {"text/plain": "3"}, "metadata": {}, "execution_count": 4}),
        ("stream", {"name": "stderr", "text": "one\ntwo\n"}),
    ]
    published.clear()
    asyncio.run(kernel.do_execute("1 + 2", True))
    assert published == []
    asyncio.run(attach(BlockResult()).do_execute("pass", False))
    assert published == []


@pytest.mark.parametrize(
    ("text", "lines"), [("Traceback\nValueError: bad", ["Traceback", "ValueError: bad"]), ("", [])]
)
def test_a_failed_cell_publishes_its_error(front_end, text, lines):
    attach, published, _ = front_end
    kernel = attach(BlockResult(error=BlockError("interpreter", "ValueError", text)))
    replied = asyncio.run(kernel.do_execute("fail()", False))
    error = {"ename": "ValueError", "evalue": lines[-1] if lines else "", "traceback": lines}
    assert replied == {"execution_count": 4, "status": "error", **error}
    assert published == [("error", error)]


def test_a_shutdown_ends_the_episode_once(front_end):
    attach, _, closed = front_end
    kernel = attach(BlockResult())
    for is_restart in (True, False):
        assert asyncio.run(kernel.do_shutdown(is_restart)) == {"status": "ok", "restart": is_restart}
    assert (closed, kernel.interpreter) == ([1], None)
