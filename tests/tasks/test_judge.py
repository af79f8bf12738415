"""A night's verdicts land, and a regression becomes the event that the declared automation follows."""

from datetime import UTC, datetime
from pathlib import Path

import yaml
from jinja2 import StrictUndefined
from jinja2.sandbox import ImmutableSandboxedEnvironment
from prefect.events.schemas.automations import EventTrigger
from prefect.events.schemas.events import Event, ResourceSpecification

from carryover.storage.warehouse.merger import merge
from carryover.storage.zone.landing import LandingZone
from carryover.tasks.judge import judge_episodes
from carryover.tasks.nightly.night_spec import SERIES, Thresholds
from carryover.tasks.plans.resolve import resolve_plan
from carryover.tasks.plans.run import Limits
from carryover.tasks.stages.runs import start_run
from carryover.tasks.traces.rows import EpisodeRow, TurnRow
from tests.storage.conftest import build_row

AUTOMATIONS = yaml.safe_load((Path(__file__).parents[2] / "deployments" / "automations.yaml").read_text())[
    "automations"
]
COUNT = 12


def land_cell(run, variant, contract, tokens):
    """Land the episodes of a cell of one turn each."""
    told = {"run_id": run.run_id, "prompt_tokens": tokens, "completion_tokens": 1}
    episodes = [
        build_row(
            EpisodeRow, episode_id=f"{variant}-{contract}-{number}", plan_digest=run.plan.digest, purpose="evaluation",
            variant=variant, model_name="persistent-0", model_digest="weights", runtime_contract=contract,
            bucket="small", instance_id=f"i{number:02}", score=number / COUNT, contract_json="{}",
            started_at=datetime.now(UTC), **told,
        )
        for number in range(COUNT)
    ]  # fmt: skip
    turns = [build_row(TurnRow, episode_id=episode.episode_id, turn=1, **told) for episode in episodes]
    LandingZone(run.landing).write({"episodes": episodes, "turns": turns}, run.run_id)


def test_regression_emits_the_event_of_the_automation(tmp_path, monkeypatch):
    monkeypatch.setenv("CARRYOVER_HOME", str(tmp_path))
    monkeypatch.delenv("CARRYOVER_LANDING", raising=False)
    emitted = []
    monkeypatch.setattr("carryover.tasks.judge.emit_event", lambda **told: emitted.append(Event(**told)))
    with start_run("reproduce_study", resolve_plan("smoke"), Limits()) as study:
        for contract in ("persistent", "stateless"):
            land_cell(study, "main", contract, 100)
    with start_run("reevaluate_model", study.plan, Limits()) as night:
        land_cell(night, SERIES, "persistent", 100)
        land_cell(night, SERIES, "stateless", 200)
        merge(night.landing, night.folders.warehouse)
        rows = judge_episodes.fn(night, SERIES, Thresholds())
    assert [(row.runtime_contract, row.verdict) for row in rows] == [
        ("persistent", "identical"), ("stateless", "regression"),
    ]  # fmt: skip
    assert LandingZone(night.landing).read("night_verdicts").num_rows == 2

    (event,) = emitted
    (declared,) = (each for each in AUTOMATIONS if each["name"] == "carryover-regression")
    trigger = EventTrigger.model_validate(declared["trigger"])
    assert event.event in trigger.expect
    assert ResourceSpecification.model_validate(declared["trigger"]["match"]).matches(event.resource)
    assert all(event.resource.get(label) for label in trigger.for_each)
    labels = {label: event.resource.get(f"carryover.{label}") for label in ("plan", "series", "runtime_contract")}
    assert labels == {"plan": night.plan.digest, "series": SERIES, "runtime_contract": "stateless"}
    told = alert(event)
    assert told["subject"] == "carryover: smoke: persistent-0 on stateless, small is worse than its baseline"
    assert told["body"] == (
        "Score 0.458 (was 0.458), tokens times 1.99 [1.99, 1.99] over 12 pairs; differs from the baseline in: nothing."
    )
    without_interval = event.model_copy(update={"payload": event.payload | {"low": None, "high": None}})
    assert "tokens times 1.99 [-, -] over" in alert(without_interval)["body"]


def alert(event):
    """Render the notification of a regression as Prefect's server does."""
    (declared,) = (each for each in AUTOMATIONS if each["name"] == "carryover-regression")
    (action,) = declared["actions"]
    template = ImmutableSandboxedEnvironment(undefined=StrictUndefined).from_string
    return {part: template(action[part]).render(event=event) for part in ("subject", "body")}
