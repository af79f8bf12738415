"""What a plan has spent before counts against the limits of its next run."""

from typing import Any

import pytest

from carryover.storage.zone.landing import LandingZone
from carryover.tasks.plans.overrides import Overrides
from carryover.tasks.plans.resolve import resolve_plan
from carryover.tasks.plans.run import Limits
from carryover.tasks.services.limits import Prices, Spent
from carryover.tasks.stages.runs import start_run
from carryover.tasks.stages.spending import close_meter, share_meter
from tests.storage.conftest import build_episode

LIMITED = Limits(max_tokens_total=100)
BILLED: dict[str, Any] = {"teacher_url": "http://127.0.0.1:9/v1", "teacher_model": "m"}


@pytest.fixture
def open_run(tmp_path, monkeypatch):
    """A function that opens a run of a smoke plan whose teacher is paid."""
    monkeypatch.setenv("CARRYOVER_HOME", str(tmp_path / "data"))
    monkeypatch.delenv("CARRYOVER_LANDING", raising=False)

    def opened(limits):
        with start_run("toy", resolve_plan("smoke", Overrides(**BILLED)), limits) as run:
            return run, LandingZone(run.landing)

    return opened


def land(zone, plan_digest, name, *, is_replayed=False, **values):
    """Land an episode of two turns of 10 prompt tokens and 1 completion token each."""
    rows = build_episode(name, plan_digest=plan_digest, **{"token_source": "server", **values})
    spent = {"prompt_tokens": 10, "completion_tokens": 1, "is_replayed": is_replayed}
    rows["turns"] = [turn.model_copy(update=spent) for turn in rows["turns"]]
    zone.write(rows, "run")


def test_a_meter_begins_with_what_the_plan_has_spent(open_run):
    run, zone = open_run(LIMITED)
    land(zone, run.plan.digest, "teacher", purpose="teacher")
    land(zone, run.plan.digest, "evaluation", purpose="evaluation")
    land(zone, run.plan.digest, "replayed", purpose="teacher", is_replayed=True)
    land(zone, run.plan.digest, "scripted", purpose="teacher", token_source="training_tokenizer")
    land(zone, "another plan", "other", purpose="teacher")
    meter = share_meter(run, zone)
    assert (meter.spent.prompt_tokens, meter.spent.completion_tokens) == (40, 4)
    assert (meter.billed.prompt_tokens, meter.billed.completion_tokens) == (20, 2)
    assert (meter.max_tokens_total, meter.max_cost) == (100, None)


def test_conditions_share_one_meter_until_it_is_closed(open_run):
    run, zone = open_run(Limits(max_cost=1.0, prices=Prices(prompt=1, completion=1)))
    meter = share_meter(run, zone)
    meter.add(Spent(prompt_tokens=3), is_billed=True)
    refreshing = run.model_copy(update={"limits": run.limits.model_copy(update={"refresh": ("traces",)})})
    assert share_meter(refreshing, zone) is meter
    close_meter(run)
    assert share_meter(run, zone).spent == Spent()


def test_closing_a_meter_leaves_those_of_other_runs(open_run):
    (first, zone), (second, _) = open_run(LIMITED), open_run(LIMITED)
    meters = [share_meter(run, zone) for run in (first, second)]
    close_meter(first)
    assert share_meter(second, zone) is meters[1]
    assert share_meter(first, zone) is not meters[0]


def test_nothing_is_read_without_a_limit(open_run):
    run, zone = open_run(Limits())
    land(zone, run.plan.digest, "teacher", purpose="teacher")
    assert share_meter(run, zone).spent == Spent()
