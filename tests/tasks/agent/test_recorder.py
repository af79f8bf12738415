"""Errors of a block as they are recorded: their kind, and whether the harness injected them."""

import pytest

from carryover.tasks.agent.events import Acted, Observed
from carryover.tasks.agent.faults import UNAVAILABLE
from carryover.tasks.agent.recorder import EpisodeRecorder
from carryover.tasks.runtime.results import BlockError, BlockResult, ToolCall
from carryover.tasks.traces.vocabulary import ErrorKind

MISSING = BlockError("interpreter", "NameError", "NameError: name 'kept' is not defined")


@pytest.fixture
def recorder():
    return EpisodeRecorder("run", "episode")


def record(recorder: EpisodeRecorder, result: BlockResult, fault: str | None = None, *dropped: str) -> None:
    acted = Acted("look()", result, is_verified=True, injected_fault=fault, dropped_names=dropped)
    recorder.watch(Observed(None, acted))


def failed_call(tool: str, error_type: str, message: str, *, is_caught: bool) -> ToolCall:
    return ToolCall(tool, "{}", None, error_type, message, is_caught, 0.0)


def test_a_dropped_name_that_is_missing_is_injected(recorder):
    record(recorder, BlockResult(error=MISSING), None, "kept")
    (error,) = recorder.errors
    assert (error.is_injected, error.is_injected_missing_name, error.is_missing_name) == (True, True, False)


def test_a_name_bound_again_is_genuinely_missing_later(recorder):
    record(recorder, BlockResult(last_step_globals=("kept",)), None, "kept")
    record(recorder, BlockResult(error=MISSING))
    (error,) = recorder.errors
    assert (error.is_injected, error.is_missing_name) == (False, True)


def test_another_missing_name_is_not_injected(recorder):
    record(recorder, BlockResult(error=MISSING), None, "other")
    assert recorder.errors[0].is_missing_name


@pytest.mark.parametrize(
    ("error_type", "message", "is_missing"),
    [
        ("UnboundLocalError", "cannot access local variable 'x'", True),
        ("KeyError", "'x'", False),
        ("RuntimeError", "Variable x Is Not Defined", True),
    ],
)
def test_a_missing_name_is_told_by_type_or_words(recorder, error_type, message, is_missing):
    record(recorder, BlockResult(error=BlockError("interpreter", error_type, message)))
    record(recorder, BlockResult(error=BlockError("tool", error_type, message)))
    assert [error.is_missing_name for error in recorder.errors] == [is_missing, False]


def test_a_caught_error_without_words_has_an_empty_message(recorder):
    silent = ToolCall("inspect", "{}", None, "ToolRuntimeException", None, is_caught=True, seconds=0.0)
    record(recorder, BlockResult(tool_calls=(silent,)))
    assert recorder.errors[0].message == ""


@pytest.mark.parametrize(
    ("error_type", "kind"), [("ToolCallLimitError", ErrorKind.CAP), ("ToolRuntimeException", ErrorKind.TOOL)]
)
def test_a_caught_error_has_the_kind_of_its_cause(recorder, error_type, kind):
    record(recorder, BlockResult(tool_calls=(failed_call("inspect", error_type, "refused", is_caught=True),)))
    (error,) = recorder.errors
    assert (error.kind, error.is_caught, error.is_injected) == (kind, True, False)


def test_an_uncaught_call_error_is_recorded_once(recorder):
    call = failed_call("inspect", "ToolRuntimeException", "refused", is_caught=False)
    record(recorder, BlockResult(tool_calls=(call,), error=BlockError("tool", "ToolRuntimeException", "refused")))
    assert [(error.kind, error.is_caught) for error in recorder.errors] == [(ErrorKind.TOOL, False)]


@pytest.mark.parametrize(("fault", "is_injected"), [("fail:inspect", True), ("fail:take_item", False), (None, False)])
def test_only_a_failure_of_the_chosen_tool_is_injected(recorder, fault, is_injected):
    call = failed_call("inspect", "ToolRuntimeException", UNAVAILABLE, is_caught=True)
    record(recorder, BlockResult(tool_calls=(call,)), fault)
    assert recorder.errors[0].is_injected == is_injected


def test_a_call_of_the_chosen_tool_that_succeeds_is_not_injected(recorder):
    failed = failed_call("inspect", "ToolRuntimeException", UNAVAILABLE, is_caught=True)
    done = ToolCall("inspect", "{}", "1", None, None, is_caught=False, seconds=0.0)
    record(recorder, BlockResult(tool_calls=(failed, done)), "fail:inspect")
    assert [call.is_injected for call in recorder._tool_calls] == [True, False]


def test_a_block_ended_by_a_chosen_failure_is_injected(recorder):
    failure = BlockError("tool", "ToolRuntimeException", f"ToolRuntimeException: {UNAVAILABLE}")
    record(recorder, BlockResult(error=failure), "fail:inspect")
    record(recorder, BlockResult(error=failure))
    assert [error.is_injected for error in recorder.errors] == [True, False]
