"""Attending a running block, without a process: its messages, its time and its memory."""

import errno
import logging
from types import SimpleNamespace
from typing import Any

import pytest

from carryover.tasks.runtime.engine import BlockKilledError, CallInterruptedError, Report
from carryover.tasks.runtime.objects import SharedMemory
from carryover.tasks.runtime.process import attend as module
from carryover.tasks.runtime.process.attend import attend
from carryover.tasks.runtime.process.node import NodeGoneError
from carryover.tasks.runtime.runtime_spec import RuntimeSpec
from carryover.tasks.runtime.transfer import Fetched

REPORT = {
    "result": "1", "error": None, "call": None, "names": [], "hash": None, "canary": "c", "hiding": [], "restored": [],
    "is_excessive": False, "shown": 0,
}  # fmt: skip
DONE = ["done", 1, REPORT]


class Block:
    """A process that sends what it was told to, and notes what it gets."""

    def __init__(self, *messages: Any) -> None:
        self.messages = list(messages)
        self.notes: list[Any] = []
        self.limits: list[int] = []
        self.deadlines: list[float] = []
        self.channel: Any = SimpleNamespace(send=self.send, limit_bytes=0, deadline=0.0)
        self.fails: Exception | None = None

    def receive(self) -> Any:
        self.limits.append(self.channel.limit_bytes)
        self.deadlines.append(self.channel.deadline)
        message = self.messages.pop(0)
        if isinstance(message, BaseException):
            raise message
        return message(self) if callable(message) else message

    def send(self, reply: Any, descriptors: tuple[int, ...] = ()) -> None:
        if self.fails is not None:
            raise self.fails
        self.notes.append((reply, len(descriptors)))

    def interrupt(self) -> None:
        self.notes.append("interrupted")

    def resume(self) -> None:
        self.notes.append("resumed")


class Root:
    """The root of an episode, whose memory is looked at by the clock."""

    def __init__(self, notes: list[Any]) -> None:
        self.used = 0
        self.asked: list[int] = []
        self.holdings: Any = SimpleNamespace(due=1e9, excess_bytes=self.excess)
        self.notes = notes

    def process_id(self) -> int:
        return 7

    def excess(self, process: int, limit: int) -> int:
        assert process == 7
        self.asked.append(limit)
        return self.used


class Now:
    """The time, which a test moves."""

    def __init__(self) -> None:
        self.seconds = 100.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def now(monkeypatch) -> Now:
    clock = Now()
    monkeypatch.setattr(module.time, "monotonic", clock)
    return clock


@pytest.fixture
def attended(monkeypatch, now):
    """Attend a block; note beside its messages who watched over memory and ended what it left."""

    def attended(block: Block, answer: Any = None, root: Root | None = None, **fields: Any) -> Report:
        chosen: Any = root or Root(block.notes)
        notes = block.notes
        watcher = SimpleNamespace(
            leave=lambda root: notes.append(("left", root is chosen)),
            watch=lambda root, limit: notes.append(("watched", root is chosen, limit)),
        )
        monkeypatch.setattr(module, "WATCHER", watcher)
        monkeypatch.setattr(module, "end_strays", lambda root: notes.append("strays ended"))
        monkeypatch.setattr(module, "put_strays_last", lambda root: notes.append("strays last"))
        node: Any = block
        return attend(node, chosen, 1, answer, RuntimeSpec(**fields))

    return attended


WATCHED = ("watched", True, 2048 << 20)
PLAIN = Report("1", None, "", None, (), None, (), "c", 0, ())


def test_block_reports_between_two_watches(attended):
    block = Block(DONE)
    assert attended(block) == PLAIN
    assert block.notes == [("left", True), WATCHED]
    assert block.limits == [4 << 20]
    assert block.channel.limit_bytes == 1 << 16


def test_calls_are_answered_until_the_report(attended):
    block = Block(["call", 3, "add", [1], {"a": 2}], ["call", 4, "add", [], {}], DONE)
    attended(block, lambda *given: ("value", [*given]))
    assert block.notes[1:-1] == [((3, ("value", ["add", [1], {"a": 2}])), 0), ((4, ("value", ["add", [], {}])), 0)]


@pytest.mark.parametrize(
    "message",
    [
        ["done", 2, REPORT], ["unfit", 1, "unknown"], ["unfit", 2, "files"], ["call", "3", "add", [], {}],
        ["offer", 3, "add", 0, []], ["filled", "3"], ["failed"], [], 5,
    ],
    ids=str,
)  # fmt: skip
def test_other_words_end_the_process(attended, message):
    block = Block(message)
    with pytest.raises(NodeGoneError, match=r"^not a message of a running block: ") as raised:
        attended(block)
    assert str(raised.value).endswith(repr(message))
    assert block.channel.limit_bytes == 1 << 16


def test_long_message_is_cut(attended):
    with pytest.raises(NodeGoneError) as raised:
        attended(Block(["x" * 1000]))
    assert len(str(raised.value)) == len("not a message of a running block: ") + 200


def test_process_that_cannot_go_on_says_why(attended):
    with pytest.raises(BlockKilledError) as raised:
        attended(Block(["unfit", 1, "files"]))
    reason = "it left too many files open; close them, as `with open(...)` does"
    assert raised.value.type_name == "StateNotKept"
    assert str(raised.value) == f"StateNotKept: the interpreter cannot go on after this block: {reason}"


def test_failure_of_its_own_code_is_logged(attended, caplog):
    with pytest.raises(NodeGoneError, match=r"^the interpreter's own code failed$"), caplog.at_level(logging.WARNING):
        attended(Block(["failed", "lost" + "é" * 2000]))
    assert caplog.messages == ["an interpreter's own code failed: " + ascii("é" * 2000)]


def test_quiet_block_is_resumed_and_what_it_left_comes_last(attended):
    block = Block(None, DONE)
    attended(block)
    assert block.notes[1:-1] == ["resumed", "strays last"]


def late(seconds: float, then: Any = None) -> Any:
    """Let time pass before a message."""

    def move(_block: Block) -> Any:
        module.time.monotonic.seconds += seconds  # type: ignore[attr-defined]
        return then

    return move


def test_late_block_is_interrupted_and_told_why(attended):
    block = Block(late(4.9), late(0.1), late(0.2), ["done", 1, {**REPORT, "error": ["StepTimeout", "a\nStepTimeout"]}])
    report = attended(block, block_timeout_seconds=5, interrupt_grace_seconds=0.5)
    assert block.deadlines == [105.0, 105.0, 105.5, 105.5]
    assert report.error_text == "a\nStepTimeout: the block ran longer than 5 s and was interrupted"
    assert report.notices == ()
    middle = ["resumed", "strays last", "interrupted", "resumed", "strays last", "resumed", "strays last"]
    assert block.notes[1:-1] == [*middle, "strays ended"]


def test_block_that_ignores_the_interrupt_is_told(attended):
    block = Block(late(20), DONE)
    notice = "This step was interrupted: the block ran longer than 20 s."
    assert attended(block) == PLAIN._replace(notices=(notice,))
    assert block.notes[-2:] == ["strays ended", WATCHED]


def test_block_that_was_interrupted_by_itself_ends_what_it_left(attended):
    block = Block(["done", 1, {**REPORT, "error": ["StepTimeout", "StepTimeout"]}])
    assert attended(block).error_text == "StepTimeout"
    assert block.notes[1:-1] == ["strays ended"]


def test_block_that_does_not_heed_the_interrupt_is_killed(attended):
    with pytest.raises(BlockKilledError) as raised:
        attended(Block(late(20), late(0.5)))
    assert str(raised.value) == "StepTimeout: the block ran longer than 20 s and was killed"


def test_ctrl_c_interrupts_once_and_then_kills(attended):
    report = attended(Block(KeyboardInterrupt(), DONE))
    assert report.notices == ("This step was interrupted: the block was stopped by hand.",)
    with pytest.raises(BlockKilledError, match="StepTimeout: the block was stopped by hand and was killed"):
        attended(Block(KeyboardInterrupt(), KeyboardInterrupt()))


def test_tool_that_was_stopped_interrupts_before_its_reply(attended):
    def answer(*_given: Any) -> Any:
        raise CallInterruptedError(("error", "StepTimeout", "", 1))

    block = Block(["call", 3, "add", [], {}], DONE)
    attended(block, answer)
    assert block.notes[1:3] == ["interrupted", ((3, ("error", "StepTimeout", "", 1)), 0)]


def test_arguments_that_are_nested_too_deep_end_the_process(attended):
    def answer(*_given: Any) -> Any:
        raise RecursionError

    with pytest.raises(NodeGoneError, match=r"^a call whose arguments are nested too deep$"):
        attended(Block(["call", 3, "add", [], {}]), answer)


def test_awaited_time_of_tools_is_not_the_block_s(attended, now, monkeypatch):
    awaited = iter([2.0, 12.0])
    monkeypatch.setattr(module, "AWAITED_SECONDS", SimpleNamespace(get=lambda: next(awaited)))

    def answer(*_given: Any) -> Any:
        now.seconds += 25
        return ("value", 1)

    block = Block(["call", 3, "add", [], {}], DONE)
    assert attended(block, answer) == PLAIN
    assert block.deadlines == [120.0, 130.0]


def test_reply_comes_in_time_or_kills(attended):
    block = Block(["call", 3, "add", [], {}])
    block.fails = BlockingIOError()
    with pytest.raises(BlockKilledError, match="StepTimeout: the block ran longer than 20 s and was killed"):
        attended(block, lambda *_: ("value", 1))
    block = Block(["call", 3, "add", [], {}])
    block.fails = BrokenPipeError(errno.EPIPE, "gone")
    with pytest.raises(NodeGoneError, match="gone"):
        attended(block, lambda *_: ("value", 1))


@pytest.mark.parametrize(("due", "asked"), [(99.0, True), (100.0, True), (100.5, False)])
def test_memory_is_looked_at_when_due(attended, due, asked):
    block = Block(DONE)
    root = Root(block.notes)
    root.holdings.due = due
    attended(block, root=root, episode_memory_limit_bytes=5 << 20)
    assert root.asked == ([5 << 20] if asked else [])


def test_block_that_holds_too_much_is_killed(attended):
    block = Block(None)
    root = Root(block.notes)
    root.holdings.due = 0.0
    root.used = 7 << 20
    with pytest.raises(BlockKilledError) as raised:
        attended(block, root=root, episode_memory_limit_bytes=5 << 20)
    reason = "the episode holds 7 MiB, 5 are allowed; the block was killed"
    assert str(raised.value) == f"MemoryLimitExceeded: {reason}"


def test_values_of_a_call_go_through_memory(attended):
    given: list[Any] = []

    def answer(*call: Any) -> Any:
        given.append(call)
        return ("object", Fetched(SharedMemory(9), ()))

    block = Block(["offer", 3, "add", 50, ["numpy"]], ["filled", 3], DONE)
    attended(block, answer, object_limit_bytes=50)
    assert block.notes[1:-1] == [((3, ("fill",)), 1), ((3, ("object", 9)), 1)]
    ((tool, arguments, keywords, offered),) = given
    assert (tool, arguments, keywords, offered.memory.size, offered.libraries) == ("add", [], {}, 50, ("numpy",))
    with pytest.raises(OSError, match="Operation not permitted"):
        module.SharedMemory.seal(offered.memory)


@pytest.mark.parametrize(
    ("size", "libraries", "reason"),
    [
        (51, [], "arguments of 51 bytes exceed the limit of 50; raise object_limit_bytes"),
        (50, ["os"], "malformed arguments"),
    ],
)
def test_offer_that_is_refused_is_told(attended, size, libraries, reason):
    block = Block(["offer", 3, "add", size, libraries], DONE)
    attended(block, object_limit_bytes=50)
    assert block.notes[1:-1] == [((3, ("refused", reason)), 0)]


def test_offer_without_room_is_told(attended, monkeypatch):
    def refuse(_size: int) -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(module, "SharedMemory", refuse)
    block = Block(["offer", 3, "add", 9, []], DONE)
    attended(block)
    reason = "no 9 bytes of shared memory are available (Too many open files); free memory, or close files"
    assert block.notes[1:-1] == [((3, ("refused", reason)), 0)]


@pytest.mark.parametrize("messages", [[["filled", 3]], [["offer", 3, "add", 9, []], ["filled", 4]]])
def test_arguments_that_were_not_offered_end_the_process(attended, messages):
    with pytest.raises(NodeGoneError, match=r"^arguments of a call that was not offered$"):
        attended(Block(*messages))


def test_arguments_are_used_once(attended):
    block = Block(["offer", 3, "add", 9, []], ["filled", 3], ["filled", 3])
    with pytest.raises(NodeGoneError, match=r"^arguments of a call that was not offered$"):
        attended(block, lambda *_: ("value", 1))


def test_arguments_that_can_still_change_end_the_process(attended, monkeypatch):
    def refuse(_memory: Any) -> None:
        raise OSError(errno.EBUSY, "busy")

    monkeypatch.setattr(SharedMemory, "seal", refuse)
    with pytest.raises(NodeGoneError, match=r"^arguments that a process keeps mapped for writing$"):
        attended(Block(["offer", 3, "add", 9, []], ["filled", 3]))
