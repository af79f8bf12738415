"""Reports and answers of a block's process, which may hold anything."""

import logging
import os
from collections.abc import Callable
from typing import Any

import pytest

from carryover.tasks.runtime import engine as module
from carryover.tasks.runtime.contract import CONTRACTS
from carryover.tasks.runtime.engine import (
    Block,
    BlockKilledError,
    Engine,
    FrozenFiles,
    Report,
    StateLostError,
    parse_report,
)
from carryover.tasks.runtime.inside.values.tree import encode
from carryover.tasks.runtime.lifetime import lifetime_of
from carryover.tasks.runtime.objects import Binding, InjectionError, RetrievalError, SharedMemory
from carryover.tasks.runtime.process.node import NodeGoneError
from carryover.tasks.runtime.results import Display
from carryover.tasks.runtime.runtime_spec import RuntimeSpec
from carryover.tasks.runtime.transfer import Fetched

MESSAGE = {
    "result": "1", "error": None, "call": None, "names": ["a"], "hash": "h", "canary": "c", "hiding": [],
    "restored": [], "is_excessive": False, "shown": 0,
}  # fmt: skip
REPORT = Report("1", None, "", None, ("a",), "h", (), "c", 0, ())


@pytest.mark.parametrize(
    ("changed", "fields"),
    [
        ({}, {}),
        ({"result": None, "hash": None}, {"result": None, "state_hash": None}),
        (
            {"error": ["KeyError", "text\ud800"], "call": 2, "result": None},
            {"error_type": "KeyError", "error_text": "text?", "call": 2, "result": None},
        ),
        ({"names": ["a\ud800", "b"], "shown": 3}, {"names": ("a?", "b"), "shown_count": 3}),
        ({"canary": "c" * 1000, "hash": "h" * 1000}, {"canary": "c" * 1000, "state_hash": "h" * 1000}),
        ({"names": ["a" * 100_000]}, {"names": ("a" * 100_000,)}),
        (
            {"hiding": ["len", "max"], "restored": ["inspect"], "is_excessive": True},
            {
                "restored": ("inspect",),
                "notices": (
                    "By the block's own account, names that hide a builtin were dropped after the step: len, max.",
                    "By the block's own account, its names had more than 100000 characters; the last were dropped.",
                ),
            },
        ),
    ],
)
def test_report_is_what_the_process_says(changed, fields):
    assert parse_report({**MESSAGE, **changed}) == REPORT._replace(**fields)


def test_long_value_is_cut(monkeypatch):
    monkeypatch.setattr(module, "RESULT_LIMIT", 3)
    notice = "The value's text is cut after 3 characters."
    assert parse_report({**MESSAGE, "result": "12345"}) == REPORT._replace(result="123", notices=(notice,))
    assert parse_report({**MESSAGE, "result": "123"}) == REPORT._replace(result="123")


@pytest.mark.parametrize(
    "changed",
    [
        {"result": 1}, {"error": ["KeyError"]}, {"call": "1"}, {"names": "a"}, {"names": [1]}, {"hash": 1},
        {"hash": "h" * 1001}, {"canary": None}, {"canary": "c" * 1001}, {"hiding": ["a"]}, {"hiding": [1]},
        {"restored": [1]}, {"is_excessive": 1}, {"shown": "0"}, {"names": ["a" * 50_000, "b" * 50_001]},
    ],
    ids=str,
)  # fmt: skip
def test_other_message_is_no_report(changed):
    with pytest.raises(NodeGoneError, match=r"^not a report: "):
        parse_report({**MESSAGE, **changed})


class Scripted(Engine):
    """Answers as it was told, and notes what it was asked."""

    def __init__(self, contract: str = "persistent", **fields: Any) -> None:
        super().__init__(lifetime_of(CONTRACTS[contract]), RuntimeSpec(**fields))
        self.answers: list[Any] = []
        self.notes: list[Any] = []
        self.run: Callable[[], Report] = lambda: REPORT
        self.is_ended = False

    def ask(self, *message: Any) -> Any:
        self.notes.append(message)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def offer(self, value: Any) -> None:
        """Let a value be fetched next."""
        encoded = encode(value)

        def fill(message: Any, descriptors: tuple[int, ...]) -> None:
            assert message == ("fill",)
            blob = bytearray(encoded.size)
            encoded.write(memoryview(blob))
            os.pwrite(descriptors[0], blob, 0)

        sizes = [{"size": encoded.size, "libraries": list(encoded.libraries)}]
        self.ask = lambda *message: sizes.pop() if sizes else fill(*message)  # type: ignore[method-assign]

    def canaries(self) -> Any: ...
    def _next(self) -> Any:
        return self

    def end(self) -> None:
        self.is_ended = True

    def _run(self, process: Any, block: Block, answer: Any) -> Report:
        return self.run()

    def finish(self, dropped: list[str] | None) -> None: ...
    def roll_back(self) -> Any: ...
    def restart(self, installed: Any) -> None: ...
    def install(self, *bindings: Binding) -> None: ...
    def freeze(self) -> Any: ...
    def thaw(self, frozen: Any) -> Any: ...
    def branch(self) -> Any: ...
    def close(self) -> None: ...


BLOCK = Block(1, "0", "1")


def execute(engine: Engine) -> Report:
    return engine.execute(BLOCK, lambda *_: ())


def printing(engine: Engine, words: bytes) -> Report:
    os.write(engine._output.descriptor, words)
    return REPORT


def test_full_output_is_told():
    engine = Scripted(output_limit_bytes=4)
    os.write(engine._output.descriptor, b"of before")
    engine.run = lambda: printing(engine, b"abc")
    assert execute(engine) == REPORT
    assert engine.output() == "abc"
    engine.run = lambda: printing(engine, b"abcd")._replace(notices=("first",))
    notice = "The output limit of a step (4 bytes) is spent; print less."
    assert execute(engine).notices == ("first", notice)


def test_process_that_ends_kills_its_block():
    engine = Scripted()

    def end() -> Report:
        raise NodeGoneError("gone")

    engine.run = end
    with pytest.raises(BlockKilledError) as raised:
        execute(engine)
    reason = "the interpreter's process ended while the block ran (a crash, an exit or a kill)"
    assert (raised.value.type_name, str(raised.value)) == ("InterpreterDied", f"InterpreterDied: {reason}")
    assert engine._running is None


def test_stop_ends_the_block_that_runs_and_the_next():
    engine = Scripted()
    engine.stop()
    assert not engine.is_ended
    fresh = Scripted()
    execute(fresh)
    assert not fresh.is_ended
    execute(engine)
    assert engine.is_ended
    other = Scripted()
    other.run = lambda: other.stop() or REPORT
    execute(other)
    assert other.is_ended


def test_questions_about_variables_are_answered_as_texts():
    engine = Scripted()
    engine.answers = [{"a\ud800": "int", "b": "x" * 2000}, {"a": 1}, {1: "int"}, ["a"]]
    assert engine.ask_of_variables("types") == {"a?": "int", "b": "x" * 1000}
    for _ in range(3):
        with pytest.raises(RetrievalError, match=r"^malformed answer to a question for the digests of variables$"):
            engine.ask_of_variables("digests")
    assert engine.notes[:2] == [(("types",), (), 16 << 20), (("digests",), (), 16 << 20)]


def test_questions_about_files_are_answered_by_sizes():
    engine = Scripted(scratch_limit_bytes=5)
    engine.answers = [{"a\ud800": 1}, {"a": "1"}, []]
    assert engine.file_sizes() == {"a?": 1}
    for _ in range(2):
        with pytest.raises(RetrievalError, match=r"^malformed answer to a question for files$"):
            engine.file_sizes()
    assert engine.notes[0] == (("files",), (), 16 << 20)
    assert [one.has_folder for one in (engine, Scripted(), Scripted(scratch_limit_bytes=0))] == [True, False, False]


def test_interpreter_that_ends_while_it_is_read_is_told():
    engine = Scripted(scratch_limit_bytes=5)
    for fetch, message in ((engine.fetch, ("fetch", "a")), (engine.read_file, ("read", "a"))):
        engine.answers = [StateLostError("gone")]
        with pytest.raises(RetrievalError, match=r"^a: the interpreter ended while it was read$"):
            fetch("a")
        assert engine.notes[-1] == (message, ())


@pytest.mark.parametrize(
    ("found", "shown"),
    [
        ([{"text/plain": "a", "image/png": b"b"}, {}], [{"text/plain": "a", "image/png": b"b"}, {}]),
        ([{"text/plain": 1}, {1: "a"}, ["a"], {"text/html": "c"}], [{"text/html": "c"}]),
        ({"text/plain": "a"}, []),
    ],
)
def test_rich_results_are_texts_and_bytes(found, shown):
    engine = Scripted()
    engine.offer(found)
    assert engine.shown(3) == tuple(Display(3, data) for data in shown)


def test_rich_results_that_do_not_travel_are_left_out(caplog):
    engine = Scripted()
    engine.answers = [{"error": "no"}]
    with caplog.at_level(logging.INFO):
        assert engine.shown(3) == ()
    assert caplog.messages == ["rich results of a block are left out: 'rich results: no'"]
    assert engine.notes == [(("shown",), ())]


def test_files_are_packed_where_they_alone_outlive_a_block():
    keeping = Scripted("stateless", scratch_limit_bytes=5)
    assert keeping.pack_files() is None
    assert Scripted("persistent", scratch_limit_bytes=5).pack_files() is None
    contract = CONTRACTS["stateless"].model_copy(update={"keeps_files": True})
    keeping._lifetime = lifetime_of(contract)
    keeping.offer(["word", []])
    packed = keeping.pack_files()
    assert packed is not None
    assert packed.files.memory.size == encode(["word", []]).size
    bare = Scripted("stateless")
    bare._lifetime = lifetime_of(contract)
    assert bare.pack_files() is None


def test_files_are_unpacked_by_the_process_that_keeps_them():
    engine = Scripted()
    memory = SharedMemory(9)
    engine.unpack_files(None)
    assert engine.notes == []
    engine.answers = [None, "x" * 2000]
    packed = FrozenFiles(Fetched(memory, ()))
    engine.unpack_files(packed)
    assert engine.notes == [(("unpack", 9), (memory.descriptor,))]
    with pytest.raises(InjectionError, match=r"^the scratch folder: x{1000}$"):
        engine.unpack_files(packed)


def test_former_values_of_a_name_are_kept_within_a_size():
    engine = Scripted(object_limit_bytes=20)
    memories = [SharedMemory(10) for _ in range(5)]
    for memory in memories:
        engine.keep(Binding(("bind", "a", False, 10), memory))
    engine.keep(Binding(("bind", "b", False, 10), memories[0]))
    engine.keep(Binding(("define", "a", "", []), None))
    kept = [binding.content for binding in engine.installed]
    assert kept == [None, None, None, memories[3], memories[4], memories[0], None]
    assert [Scripted(contract).forgets for contract in ("stateless", "persistent")] == [True, False]
