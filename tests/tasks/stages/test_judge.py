"""A regression is an event that names the model and carries the whole verdict."""

from datetime import UTC, datetime

from prefect.events.schemas.events import Event

from carryover.storage.zone.landing import LandingZone
from carryover.tasks.analyse import merge_landing
from carryover.tasks.judge import REGRESSION_EVENT, announce, judge_episodes
from carryover.tasks.nightly.night_spec import Thresholds
from carryover.tasks.plans.resolve import resolve_plan
from carryover.tasks.plans.run import Limits
from carryover.tasks.stages.runs import start_run


def test_night_lands_verdicts_on_cells_and_emits_regressions(tmp_path, monkeypatch, make_episode):
    monkeypatch.setenv("CARRYOVER_HOME", str(tmp_path))
    monkeypatch.delenv("CARRYOVER_LANDING", raising=False)
    plan = resolve_plan("smoke")
    for flow, variant in (("reproduce_study", "main"), ("reevaluate_model", "reevaluation")):
        with start_run(flow, plan, Limits()) as run:
            rows = make_episode(f"{variant}-episode")
            (row,) = rows["episodes"]
            place = {"plan_digest": plan.digest, "purpose": "evaluation", "variant": variant, "run_id": run.run_id}
            place |= {"contract_json": "{}"}
            LandingZone(run.landing).write({"episodes": [row.model_copy(update=place)]}, run.run_id)
    merge_landing.fn(run)
    (verdict,) = judge_episodes.fn(run, "reevaluation", Thresholds())
    assert (verdict.verdict, verdict.run_id, verdict.pair_count) == ("unchanged", run.run_id, 1)
    assert LandingZone(run.landing).scan("night_verdicts").collect().height == 1

    emitted = []
    monkeypatch.setattr(
        "carryover.tasks.judge.emit_event",
        lambda **event: emitted.append(Event.model_validate({"occurred": datetime.now(UTC), **event})),
    )
    announce(verdict, run)
    (event,) = emitted
    assert event.event == REGRESSION_EVENT
    assert event.resource.id == f"carryover.model.{plan.digest}.{row.base}.{row.model_name}"
    assert event.payload == verdict.model_dump(mode="json")
