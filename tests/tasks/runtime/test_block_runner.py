"""Blocks that run in turn on an engine that only takes notes: their results and events."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from carryover.tasks.runtime.blocks import BlockRunner
from carryover.tasks.runtime.engine import BlockKilledError, Report, StateLostError
from carryover.tasks.runtime.identity import Identity
from carryover.tasks.runtime.results import BlockError, BlockResult
from carryover.tasks.runtime.runtime_spec import RuntimeSpec
from carryover.tasks.runtime.shaping import Preview
from carryover.tasks.runtime.state import EpisodeState
from carryover.tasks.runtime.tools import ToolTable
from tests.tasks.runtime.noting_engine import KEPT, RECENT, REPORT, run, state_on

ROLLED_BACK = "The interpreter was rolled back to its state before this step."


def runner_on(state: EpisodeState, **fields: Any) -> tuple[BlockRunner, Any]:
    use: Any = SimpleNamespace(is_closed=False)
    injector: Any = SimpleNamespace(known_names={"look", "table"})
    tools = ToolTable({"look": lambda: 5}, 1)
    return BlockRunner(state, tools, injector, use, RuntimeSpec(**fields), Identity("a", "b")), use


PLAIN = BlockResult("out", "1", None, ("x",), ("x",), state_hash="h")


def result_of(runner: BlockRunner, code: str = "x = 1") -> BlockResult:
    found = runner.run(code)
    assert found.seconds > 0
    return found._replace(seconds=0.0)


def test_result_holds_all_that_is_known_of_a_block():
    state, engine = state_on(KEPT)
    runner, _ = runner_on(state)
    runner.untold = ("first",)
    engine.due = ("last",)
    engine.reports = [REPORT._replace(notices=("own",), restored=("table", "look", "own"), shown_count=1)]
    displays = engine.shown(1)
    assert result_of(runner) == PLAIN._replace(
        displays=displays,
        notices=(
            "first",
            "own",
            "Figures shown to the user: 1. Figures that were left open are closed.",
            "These names belong to tools, and what the block bound to them was dropped after the step: look, table.",
            "last",
        ),
    )
    assert list(runner.displays) == [*displays]
    engine.due = ()
    engine.reports = [REPORT._replace(restored=("own",))]
    assert result_of(runner) == PLAIN
    assert (runner.step, runner.untold) == (2, ())


def test_error_of_a_block_is_told_by_where_it_came_from():
    state, engine = state_on(KEPT)
    runner, _ = runner_on(state)

    def call(answer: Callable[..., Any]) -> Report:
        answer("look", [], {})
        answer("look", [], {})
        return REPORT._replace(result=None, error_type="ToolCallLimitError", error_text="text", call=2)

    engine.reports = [call, REPORT._replace(error_type="KeyError", error_text="text")]
    found = result_of(runner)
    assert found.error == BlockError("cap", "ToolCallLimitError", "text")
    assert [(one.result_json, one.error_type, one.is_caught) for one in found.tool_calls] == [
        ("5", None, False), (None, "ToolCallLimitError", False),
    ]  # fmt: skip
    again = result_of(runner)
    assert (again.error, again.tool_calls) == (BlockError("interpreter", "KeyError", "text"), ())


def test_names_that_existed_may_be_more_than_those_that_stay():
    state, engine = state_on(RECENT)
    runner, _ = runner_on(state)
    engine.reports = [REPORT, REPORT._replace(names=("x", "y")), REPORT._replace(names=("x", "y"))]
    found = [runner.run(code) for code in ("x = 1", "y = 1", "1")]
    assert [one.active_globals for one in found] == [("x",), ("x", "y"), ("y",)]
    assert [one.last_step_globals for one in found] == [("x",), ("x", "y"), ("x", "y")]


@pytest.mark.parametrize("is_closed", [True, False])
def test_calls_of_a_killed_block_are_told(is_closed):
    def call(answer: Callable[..., Any]) -> Report:
        answer("look", [], {})
        raise BlockKilledError("StepTimeout", "late")

    state, engine = state_on(KEPT)
    runner, use = runner_on(state)
    use.is_closed = is_closed
    engine.reports = [call]
    assert [one.tool for one in runner.run("look()").tool_calls] == ["look"]


@pytest.mark.parametrize(
    ("code", "error_type", "is_told"),
    [
        ("x = 1\n%time x", "SyntaxError", True),
        ("!ls", "SyntaxError", True),
        ("  %%bash", "SyntaxError", True),
        ("x %time", "SyntaxError", False),
        ("!1", "SyntaxError", False),
        ("!ls", "KeyError", False),
    ],
)
def test_commands_of_notebooks_are_told_to_be_unavailable(code, error_type, is_told):
    state, engine = state_on(KEPT)
    engine.reports = [REPORT._replace(error_type=error_type, error_text="")]
    notice = "IPython's commands (lines that begin with % or !) are unavailable; write Python."
    assert result_of(runner_on(state)[0], code).notices == ((notice,) if is_told else ())


def test_refused_block_does_not_run():
    state, engine = state_on(KEPT)
    runner, _ = runner_on(state)
    run(state)
    del engine.notes[:]
    found = result_of(runner, "'\ud800'")
    assert found.error is not None
    assert found.error.type == "SyntaxError"
    assert found == BlockResult(error=found.error, active_globals=("x",), last_step_globals=("x",))
    assert (engine.notes, runner.step) == ([], 1)


@pytest.mark.parametrize(
    ("ended", "error"),
    [
        (BlockKilledError("StepTimeout", "late"), BlockError("interpreter", "StepTimeout", "StepTimeout: late")),
        (
            StateLostError("gone"),
            BlockError(
                "interpreter",
                "InterpreterDied",
                "InterpreterDied: what earlier blocks left running has ended the interpreter, before this block began",
            ),
        ),
    ],
)
def test_killed_block_is_rolled_back(ended, error):
    state, engine = state_on(KEPT)
    runner, use = runner_on(state, shaping=Preview(limit=2))
    run(state)
    engine.reports = [ended]
    found = result_of(runner)
    output = "o\n... [1 characters left out; ask for less to see them] ...\nt"
    assert found == BlockResult(output, None, error, ("x",), ("x",), (), "rolled_back", notices=(ROLLED_BACK,))
    assert [(event.step, event.kind) for event in runner.events] == [(1, "rolled_back")]
    engine.reports = [ended]
    use.is_closed = True
    closed = BlockError("interpreter", "InterpreterClosed", "InterpreterClosed: the interpreter was closed meanwhile")
    assert result_of(runner).error == closed
    assert len(runner.events) == 1
