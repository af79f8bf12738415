"""What a turn tells the model, and the errors that it leaves."""

import copy

import pytest

from carryover.tasks.runtime.policy import StaticPolicy
from carryover.tasks.traces.vocabulary import ErrorKind, FinishReason
from tests.tasks.agent.playing import FIRST_ID, Model, block, make_condition, observations, play


def test_only_the_first_block_runs_and_that_is_told(runtime):
    model = Model(block("print('one')") + "\n" + block("print('two')"), block("finish()"))

    recorded = play(runtime, model)

    (observation,) = observations(recorded)
    assert observation["observation"]["output"] == "one\n"
    assert "held 2 code blocks" in observation["system_note"]
    assert [turn.has_system_note for turn in recorded.turns[:2]] == [False, True]
    assert recorded.turns[1].block_count == 2
    assert "two" in recorded.turns[1].assistant_text
    assert "two" not in model.requests[1].messages[-2].content


def test_reply_without_block_uses_its_turn(runtime):
    recorded = play(runtime, Model(block("x = 1"), "I wonder.", block("finish()")))

    assert (recorded.episode.turn_count, recorded.episode.step_count) == (3, 2)
    told = observations(recorded)[1]
    assert "No code block found" in told["observation"]["error"]
    assert told["runtime_state"]["active_globals"] == ["x"]
    (error,) = recorded.errors
    assert (error.kind, error.step, error.turn) == (ErrorKind.PROTOCOL, None, 2)


def test_a_reply_that_was_cut_off_runs_nothing(runtime):
    recorded = play(runtime, Model(block("finish()"), finish_reason="length"), max_turns=2)

    assert recorded.episode.finish_reason == FinishReason.MAX_TURNS
    assert recorded.episode.step_count == 0
    assert "cut off before its end (finish reason: length)" in observations(recorded)[0]["observation"]["error"]
    assert recorded.episode.completion_tokens == 20
    assert {error.kind for error in recorded.errors} == {ErrorKind.MODEL}


def test_the_header_tells_living_names_under_the_persistent_contract(runtime):
    recorded = play(runtime, Model(block("import math\nx = 1\ndef f(): pass"), block("y = x"), block("finish()")))

    first, second = (told["runtime_state"] for told in observations(recorded))
    assert first == {"runtime": "persistent", "active_globals": ["f", "x"], "last_step_globals": ["f", "x"]}
    assert second["active_globals"] == ["f", "x", "y"]
    assert recorded.steps[1].active_globals_before == ("f", "x")


def test_stateless_header_lists_lost_names(runtime):
    recorded = play(runtime, Model(block("x = 1"), block("y = x"), block("finish()")), "stateless")

    first, second = observations(recorded)
    assert first["runtime_state"] == {"runtime": "reset", "active_globals": [], "last_step_globals": ["x"]}
    assert "NameError" in second["observation"]["error"]
    (error,) = recorded.errors
    assert error.is_missing_name
    assert (error.kind, error.error_type, error.is_caught, error.is_injected) == (
        ErrorKind.INTERPRETER,
        "NameError",
        False,
        False,
    )


@pytest.mark.parametrize(
    ("played", "trained", "header", "alive"),
    [
        ("stateless", "persistent", {"runtime": "persistent", "active_globals": ["x"]}, ()),
        ("persistent", "stateless", {"runtime": "reset", "active_globals": []}, ("x",)),
    ],
)
def test_as_trained_prompt_and_header_follow_the_contract_of_training(runtime, played, trained, header, alive):
    condition = make_condition(played, train_contract=trained, visibility="as_trained", base="scratch")
    model = Model(block("x = 1"), block("finish()"))

    recorded = play(runtime, model, condition=condition)

    assert f"Runtime mode: {header['runtime'].upper()}" in model.requests[0].messages[1].content
    assert observations(recorded)[0]["runtime_state"] == {**header, "last_step_globals": ["x"]}
    assert recorded.steps[0].active_globals == alive
    assert (recorded.episode.shown_contract, recorded.episode.runtime_contract) == (trained, played)


@pytest.mark.parametrize(("contract", "word"), [("persistent", "persistent"), ("stateless", "reset")])
def test_a_header_without_names_tells_the_runtime_alone(runtime, contract, word):
    condition = make_condition(contract, header="none")

    recorded = play(runtime, Model(block("x = 1"), block("finish()")), condition=condition)

    assert observations(recorded)[0]["runtime_state"] == {"runtime": word}


def test_call_after_the_cap_fails_and_output_stays(runtime):
    code = "for number in range(4):\n    list_items()\n    print(number)"

    recorded = play(runtime, Model(block(code), block("finish()")), tool_call_cap=3)

    told = observations(recorded)[0]["observation"]
    assert told["output"] == "0\n1\n2\n"
    assert "Tool call limit exceeded" in told["error"]
    assert recorded.steps[0].error_kind == ErrorKind.CAP
    assert recorded.steps[0].executed_call_count == 4  # the refused call reached the host too
    assert recorded.errors[0].kind == ErrorKind.CAP


def test_caught_tool_error_is_recorded_as_caught(runtime):
    code = "try:\n    take_item('nothing')\nexcept Exception:\n    print('caught')"

    recorded = play(runtime, Model(block(code), block("finish()")))

    assert observations(recorded)[0]["observation"]["error"] is None
    (error,) = recorded.errors
    assert (error.kind, error.error_type, error.is_caught) == (ErrorKind.TOOL, "ToolRuntimeException", True)


def test_a_tool_error_that_ends_the_block_is_one_error(runtime):
    recorded = play(runtime, Model(block(f"take_item('{FIRST_ID}')"), block("finish()")))

    assert "must be inspected" in observations(recorded)[0]["observation"]["error"]
    (error,) = recorded.errors
    assert (error.kind, error.is_caught) == (ErrorKind.TOOL, False)
    (call, _) = recorded.tool_calls
    assert (call.tool, call.is_caught) == ("take_item", False)


def test_a_block_that_is_no_python_is_an_observation(runtime):
    recorded = play(runtime, Model(block("def broken(:"), block("finish()")))

    assert "SyntaxError" in observations(recorded)[0]["observation"]["error"]
    assert not recorded.steps[0].is_parsed


def test_text_that_no_file_can_hold_is_replaced(runtime):
    codes = ("class Odd:\n    def __repr__(self): return '\\ud800'\nOdd()", "raise ValueError('\\ud800')", "finish()")
    model = Model(*(f"I \ud800 act.\n```python\n{code}\n```" for code in codes))

    recorded = play(runtime, model)

    assert recorded.steps[0].result == "?"
    assert (recorded.steps[1].error or "").endswith("ValueError: ?")
    for rows in recorded.rows.values():
        for row in rows:
            row.model_dump_json().encode()


@pytest.mark.parametrize("contract", ["persistent", "stateless"])
def test_forbidden_block_is_recorded_by_rule_name_and_line(runtime, contract):
    strict = copy.copy(runtime)
    strict.spec = runtime.spec.model_copy(
        update={"policy": StaticPolicy(denied_imports=("os",), denied_calls=("eval",))}
    )

    recorded = play(strict, Model(block("x = 1\nimport os\neval('x')"), block("finish()")), contract)

    (told,) = (observation["observation"] for observation in observations(recorded))
    assert told["violations"] == [
        {"rule": "import", "name": "os", "line": 2},
        {"rule": "call", "name": "eval", "line": 3},
    ]
    assert [(event.step, event.kind, event.name, event.detail_json) for event in recorded.runtime_events] == [
        (1, "policy_violation", "os", '{"rule": "import", "line": 2}'),
        (1, "policy_violation", "eval", '{"rule": "call", "line": 3}'),
    ]
    assert [(error.step, error.error_type) for error in recorded.errors] == [(1, "PolicyViolation")]
