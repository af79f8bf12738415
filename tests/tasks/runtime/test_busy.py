"""One thing at a time: what a second thread, or a tool of the running block, is told."""

import threading

import pytest

from carryover.tasks.runtime.engine import BusyError
from carryover.tasks.runtime.sandbox.launch import SandboxStartError
from tests.tasks.runtime.opened import engine_of

USES = {
    "run": lambda other: other.run_block("1"),
    "inject": lambda other: other.inject("x", 1),
    "retrieve": lambda other: other.retrieve("x"),
    "variables": lambda other: other.variables(),
    "snapshot": lambda other: other.snapshot(),
    "branch": lambda other: other.branch(),
    "verify": lambda other: other.verify_contract(),
}


@pytest.mark.parametrize("use", USES)
def test_tool_cannot_use_its_own_session(open_one, contract, use):
    told = []

    def meddle() -> str:
        with pytest.raises(BusyError) as refusal:
            USES[use](opened[0])
        told.append(str(refusal.value))
        return "done"

    opened = [open_one(contract, {"meddle": meddle})]
    assert opened[0].run_block("x = 1\nmeddle()").result == "'done'"
    assert told == ["the interpreter is busy: a block runs, or another thread uses it; wait for the end"]
    assert opened[0].run_block("2").result == "2"


def test_second_thread_is_refused_and_the_first_goes_on(open_one, contract):
    inside, release = threading.Event(), threading.Event()

    def wait() -> int:
        inside.set()
        release.wait(60)
        return 7

    interpreter = open_one(contract, {"wait": wait})
    results = []
    thread = threading.Thread(target=lambda: results.append(interpreter.run_block("wait()")))
    thread.start()
    assert inside.wait(60)
    with pytest.raises(BusyError):
        interpreter.run_block("1")
    release.set()
    thread.join(60)
    assert results[0].result == "7"
    assert interpreter.run_block("1").result == "1"


def test_tool_of_a_block_runs_a_branch_without_files(open_fork_tree):
    branches = []
    interpreter = open_fork_tree("persistent", {"ask": lambda: branches[0].run_block("x + 1").result})
    interpreter.run_block("x = 1")
    branches.append(interpreter.branch())
    assert interpreter.run_block("ask()").result == "'2'"
    branches[0].close()


def test_branch_that_shares_files_is_refused_within_a_block(open_fork_tree_files):
    branches = []
    refusals = []

    def ask() -> str:
        with pytest.raises(BusyError) as refusal:
            branches[0].run_block("1")
        refusals.append(str(refusal.value))
        return "done"

    interpreter = open_fork_tree_files("persistent", {"ask": ask})
    branches.append(interpreter.branch())
    assert interpreter.run_block("ask()").result == "'done'"
    assert refusals == ["a branch of this interpreter runs a block in this thread; wait for its end"]
    assert branches[0].run_block("2").result == "2"
    branches[0].close()


def test_close_ends_a_running_block(open_one, contract):
    inside = threading.Event()
    interpreter = open_one(contract, {"tell": inside.set})
    results = []
    thread = threading.Thread(target=lambda: results.append(interpreter.run_block("tell()\nwhile True: pass")))
    thread.start()
    assert inside.wait(60)
    interpreter.close()
    thread.join(60)
    assert results[0].error.type == "InterpreterClosed"
    with pytest.raises(ValueError, match="closed"):
        interpreter.run_block("1")


def test_tool_that_closes_its_session_ends_it_after_the_block(open_one, contract):
    opened = []
    opened.append(open_one(contract, {"close": lambda: opened[0].close() or 1}))
    assert opened[0].run_block("close() + 4").result == "5"
    with pytest.raises(ValueError, match="closed"):
        opened[0].run_block("1")


def test_sandbox_that_does_not_start_again_can_be_closed(open_fork_tree, monkeypatch):
    interpreter = open_fork_tree("persistent")
    engine = engine_of(interpreter)

    def refuse(_output: int) -> None:
        raise SandboxStartError("the sandbox did not start")

    monkeypatch.setattr(engine, "_open_root", refuse)
    engine._root.node.end()
    for _ in range(2):
        with pytest.raises(SandboxStartError):
            interpreter.run_block("import os\nos._exit(0)")
    interpreter.close()
