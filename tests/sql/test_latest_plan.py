"""The latest finished plan, and the view of its episodes."""

from datetime import timedelta
from typing import Any, Literal

from carryover.tasks.traces.study_rows import RunEndRow, RunRow
from tests.sql.hand_made_warehouse import NOW, HandMade


def _run(
    warehouse: HandMade,
    plan_digest: str,
    ended_after: int | None,
    *,
    flow: str = "reproduce_study",
    status: Literal["finished", "failed"] = "finished",
) -> None:
    values: dict[str, Any] = {"plan_name": "laptop", "scale": "laptop", "plan_json": "{}", "environment_json": "{}"}
    run_id = f"run-{plan_digest}-{flow}"
    warehouse.add(RunRow(run_id=run_id, flow=flow, plan_digest=plan_digest, started_at=NOW, **values))
    if ended_after is not None:
        end = NOW + timedelta(hours=ended_after)
        warehouse.add(RunEndRow(run_id=run_id, status=status, message="", finished_at=end))
    warehouse.episode("P->P", plan_digest=plan_digest, episode_id=f"e-{plan_digest}-{flow}")


def _latest(warehouse: HandMade) -> list[str]:
    return [row["episode_id"] for row in warehouse.sql("select * from latest_episodes")]


def test_latest_episodes_are_those_of_the_study_that_finished_last(warehouse):
    assert _latest(warehouse) == []
    _run(warehouse, "early", 3)
    _run(warehouse, "late", 5)
    _run(warehouse, "failed", 7, status="failed")
    _run(warehouse, "under-way", None)
    _run(warehouse, "evaluated", 9, flow="evaluate_models")
    _run(warehouse, "imported", 9, flow="import")
    assert _latest(warehouse) == ["e-late-reproduce_study"]
    assert [row["plan_digest"] for row in warehouse.sql("from staging.latest_plan")] == ["late"]


def test_latest_episodes_are_those_that_count(warehouse):
    _run(warehouse, "plan", 3)
    warehouse.episode("P->P", plan_digest="plan", episode_id="failed", instance_id="i9", finish_reason="error")
    for episode_id, instance in (("c", "i1"), ("a", "i3"), ("b", "i2")):
        warehouse.episode("P->P", instance, plan_digest="plan", episode_id=episode_id, replicate=1)
    assert _latest(warehouse) == ["a", "b", "c", "e-plan-reproduce_study"]


def test_import_is_the_latest_plan_without_a_finished_study(warehouse):
    _run(warehouse, "failed", 7, status="failed")
    _run(warehouse, "imported", 3, flow="import")
    assert _latest(warehouse) == ["e-imported-import"]
