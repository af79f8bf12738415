"""The failure classes of hand-made episodes (arXiv 2603.01209, appendix D.3)."""

from importlib.resources import files

import pytest

from tests.empty_warehouse import open_empty_memory
from tests.sql.hand_made_warehouse import HandMade

DEFAULT = "k=3 density=0.5"


def failure_class(warehouse, reading: str = DEFAULT) -> str | None:
    rows = warehouse.sql("select failure_class from marts.episode_failures where reading = $reading", reading=reading)
    assert len(rows) == 1
    return rows[0]["failure_class"]


@pytest.mark.parametrize(
    ("score", "messages", "expected"),
    [
        (1.0, [("tool", "ToolRuntimeException: exceeds capacity")], "optimal"),
        (0.5, [("tool", "Item already TAKEN"), ("tool", "it EXCEEDS Capacity")], "capacity_violation"),
        (0.5, [("tool", "already taken"), ("tool", "disallowed class 'B'")], "class_violation"),
        (0.5, [("tool", "item must be inspected before")], "protocol_violation"),
        (0.5, [("tool", "already taken"), *[("interpreter", "NameError: x")] * 4], "protocol_violation"),
        (0.5, [("interpreter", "NameError: x")] * 2, "silent_suboptimality"),
        (0.5, [("interpreter", "NameError: x")] * 3, "execution_instability"),
        (0.5, [("cap", "Tool call limit exceeded")] * 4, "silent_suboptimality"),
        (None, [], "unclassified"),
    ],
)
def test_the_first_rule_that_matches_decides(warehouse, score, messages, expected):
    episode_id = warehouse.episode(score=score, step_count=4)
    for step, (kind, message) in enumerate(messages, start=1):
        warehouse.error(episode_id, min(step, 4), message, kind)
    assert failure_class(warehouse) == expected


@pytest.mark.parametrize("reason", ["max_turns", "context_length", "error", "timeout", "tool_error", "other"])
def test_only_normally_ended_episodes_have_a_class(warehouse, reason):
    warehouse.episode(score=0.5, finish_reason=reason)
    assert failure_class(warehouse) is None


@pytest.mark.parametrize("step_count", [0, 1])
def test_one_error_is_more_than_half_of_one_step_or_none(warehouse, step_count):
    warehouse.error(warehouse.episode(step_count=step_count), 1, "NameError: x")
    assert failure_class(warehouse) == "execution_instability"


def test_an_unlisted_signal_is_no_normal_end(warehouse):
    warehouse.episode(score=0.5)
    warehouse.connection.execute("update main.episodes set finish_reason = 'gave_up'")
    assert failure_class(warehouse) is None


def test_half_of_the_steps_is_not_more_than_half(warehouse):
    episode_id = warehouse.episode(step_count=12)
    for step in range(1, 7):  # 6 of 12, none in the window of steps 8 to 12
        warehouse.error(episode_id, step, "NameError: x")
    assert failure_class(warehouse) == "silent_suboptimality"
    assert failure_class(warehouse, "k=3 density=0.4") == "execution_instability"


def test_the_window_is_the_last_five_steps(warehouse):
    episode_id = warehouse.episode(step_count=12)
    for step in (7, 8, 10):  # step 7 is the sixth from the end
        warehouse.error(episode_id, step, "NameError: x")
    assert failure_class(warehouse) == "silent_suboptimality"
    assert failure_class(warehouse, "k=2 density=0.5") == "execution_instability"


def test_named_variants_change_one_rule_each(warehouse):
    episode_id = warehouse.episode(step_count=10)
    for step in (8, 9, 10):
        warehouse.error(episode_id, step, "Tool call limit exceeded", "cap")
    assert failure_class(warehouse) == "silent_suboptimality"
    assert failure_class(warehouse, "cap_errors_are_errors") == "execution_instability"


def test_caught_tool_error_is_a_violation_only_where_counted(warehouse):
    warehouse.error(warehouse.episode(), 1, "already taken", "tool", is_caught=True)
    assert failure_class(warehouse) == "silent_suboptimality"
    assert failure_class(warehouse, "caught_errors_count") == "protocol_violation"


def test_class_probing_is_no_violation_where_allowed(warehouse):
    warehouse.error(warehouse.episode(), 1, "disallowed class 'B'", "tool")
    assert failure_class(warehouse) == "class_violation"
    assert failure_class(warehouse, "class_probing_is_no_violation") == "silent_suboptimality"


def test_injected_errors_are_not_the_agents(warehouse):
    episode_id = warehouse.episode(step_count=3)
    for step in (1, 2, 3):
        warehouse.error(episode_id, step, "NameError: x", is_injected=True)
    assert failure_class(warehouse) == "silent_suboptimality"


def test_another_reading_of_the_classes_is_one_row_more():
    warehouse = HandMade(open_empty_memory())
    warehouse.error(warehouse.episode(step_count=4), 4, "NameError: x")
    parameters = (files("carryover.sql") / "staging" / "failure_parameters.sql").read_text(encoding="utf-8")
    known = "('cap_errors_are_errors', 3, 0.5, true, false, true, false),"
    assert known in parameters
    row_more = known.replace("cap_errors_are_errors", "one_is_enough").replace(", 3, 0.5, true", ", 1, 0.5, false")
    warehouse.connection.execute(
        f"create or replace view staging.failure_parameters as {parameters.replace(known, known + row_more)}"
    )
    found = [failure_class(warehouse, reading) for reading in (DEFAULT, "one_is_enough")]
    assert found == ["silent_suboptimality", "execution_instability"]


def test_the_thresholds_are_crossed_beside_three_named_variants(warehouse):
    rows = warehouse.sql("select is_sensitivity, count(*) as count from staging.failure_parameters group by all")
    assert {row["is_sensitivity"]: row["count"] for row in rows} == {True: 15, False: 3}
