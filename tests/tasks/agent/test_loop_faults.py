"""Faults that the harness injects into an episode, told from the errors of the agent."""

from carryover.tasks.agent.faults import FaultSpec
from tests.tasks.agent.playing import Model, block, play

ALWAYS = FaultSpec(rate=1.0, storm_share=0.0, maximum=1)


def test_errors_after_a_dropped_name_count_as_injected(runtime):
    model = Model(block("x = 1"), *[block("print(x)")] * 2, block("x = 2"), block("print(x)"), block("finish()"))

    recorded = play(runtime, model, faults=ALWAYS)

    steps = recorded.steps
    assert [step.injected_fault for step in steps] == [None, "drop:x", None, None, None, None]
    assert steps[1].active_globals_before == ()
    assert [(error.step, error.is_injected) for error in recorded.errors] == [(2, True), (3, True)]
    assert [(error.is_missing_name, error.is_injected_missing_name) for error in recorded.errors] == [(False, True)] * 2
    assert steps[4].output == "2\n"
    assert recorded.episode.injected_fault_count == 1
    assert [event.kind for event in recorded.runtime_events] == ["drop"]


def test_a_missing_name_of_the_agents_own_is_not_injected(runtime):
    model = Model(block("x = 1"), block("print(x)"), block("print(z)"), block("finish()"))

    recorded = play(runtime, model, faults=ALWAYS)

    assert [(error.step, error.is_injected) for error in recorded.errors] == [(2, True), (3, False)]
    assert [error.step for error in recorded.errors if error.is_missing_name] == [3]


def test_injected_tool_failure_is_recorded_as_injected(runtime):
    recorded = play(runtime, Model(block("list_items()"), block("finish()")), "stateless", faults=ALWAYS)

    assert recorded.steps[0].injected_fault == "fail:list_items"
    assert recorded.tool_calls[0].is_injected
    (error,) = recorded.errors
    assert error.is_injected
    assert not error.is_caught


def test_a_genuine_error_beside_an_injected_one_is_not_injected(runtime):
    code = "try:\n    list_items()\nexcept Exception:\n    pass\ninspect('nothing')"

    recorded = play(runtime, Model(block(code), block("finish()")), "stateless", faults=ALWAYS)

    assert [(call.tool, call.is_injected) for call in recorded.tool_calls[:2]] == [
        ("list_items", True),
        ("inspect", False),
    ]
    assert [(error.is_caught, error.is_injected) for error in recorded.errors] == [(True, True), (False, False)]
