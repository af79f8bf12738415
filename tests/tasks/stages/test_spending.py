"""What a plan has spent before counts against the limits of its next run."""

from typing import Any

import pytest

from carryover.storage.zone.landing import LandingZone
from carryover.tasks.plans.models import StudyModel
from carryover.tasks.plans.overrides import Overrides
from carryover.tasks.plans.resolve import resolve_plan
from carryover.tasks.plans.run import Limits
from carryover.tasks.plans.shards import evaluation_shards, teacher_shards
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


def land(zone, plan_digest, name, *, is_replayed=False, run_id="run", **values):
    """Land an episode of two turns of 10 prompt tokens and 1 completion token each."""
    rows = build_episode(name, plan_digest=plan_digest, **{"token_source": "server", **values})
    rows = {table: [row.model_copy(update={"run_id": run_id}) for row in landed] for table, landed in rows.items()}
    spent = {"prompt_tokens": 10, "completion_tokens": 1, "is_replayed": is_replayed}
    rows["turns"] = [turn.model_copy(update=spent) for turn in rows["turns"]]
    zone.write(rows, run_id)


def teacher_shard(run):
    return teacher_shards(run, run.plan.parts[0], None)[0]


def evaluation_shard(run, url=None):
    """Return a shard of the base, asked at an endpoint where there is a URL."""
    part = run.plan.parts[0]
    base = StudyModel(name="base", kind="base", path="/base", identity="base")
    serving = run.plan.serving if url is None else run.plan.serving.elsewhere(url, None)
    return evaluation_shards(run, part, part.evaluations[0], [base], base_url="http://h/v1", serving=serving)[0]


def test_a_meter_begins_with_what_the_plan_has_spent(open_run):
    run, zone = open_run(LIMITED)
    land(zone, run.plan.digest, "teacher", purpose="teacher")
    land(zone, run.plan.digest, "evaluation", purpose="evaluation")
    land(zone, run.plan.digest, "replayed", purpose="teacher", is_replayed=True)
    land(zone, run.plan.digest, "scripted", purpose="teacher", token_source="training_tokenizer")
    land(zone, "another plan", "other", purpose="teacher")
    meter = share_meter(run, zone, teacher_shard(run))
    assert (meter.spent.prompt_tokens, meter.spent.completion_tokens) == (40, 4)
    assert (meter.billed.prompt_tokens, meter.billed.completion_tokens) == (20, 2)
    assert (meter.max_tokens_total, meter.max_cost) == (100, None)


@pytest.mark.parametrize(("url", "billed"), [("http://h/v1", 20), (None, 0)])
def test_a_reopened_meter_counts_what_the_runs_endpoint_has_cost(open_run, url, billed):
    """A re-evaluation's parts are played one after the other, each with a meter of its own."""
    run, zone = open_run(Limits(max_cost=1.0, prices=Prices(prompt=1)))
    land(zone, run.plan.digest, "night", purpose="evaluation", run_id=run.run_id)
    land(zone, run.plan.digest, "study", purpose="evaluation")
    meter = share_meter(run, zone, evaluation_shard(run, url))
    assert (meter.spent.prompt_tokens, meter.billed.prompt_tokens) == (40, billed)


def test_conditions_share_one_meter_until_it_is_closed(open_run):
    run, zone = open_run(Limits(max_cost=1.0, prices=Prices(prompt=1, completion=1)))
    meter = share_meter(run, zone, teacher_shard(run))
    meter.add(Spent(prompt_tokens=3), is_billed=True)
    refreshing = run.model_copy(update={"limits": run.limits.model_copy(update={"refresh": ("traces",)})})
    assert share_meter(refreshing, zone, teacher_shard(run)) is meter
    close_meter(run)
    assert share_meter(run, zone, teacher_shard(run)).spent == Spent()


def test_closing_a_meter_leaves_those_of_other_runs(open_run):
    (first, zone), (second, _) = open_run(LIMITED), open_run(LIMITED)
    meters = [share_meter(run, zone, teacher_shard(run)) for run in (first, second)]
    close_meter(first)
    assert share_meter(second, zone, teacher_shard(second)) is meters[1]
    assert share_meter(first, zone, teacher_shard(first)) is not meters[0]


def test_nothing_is_read_without_a_limit(open_run):
    run, zone = open_run(Limits())
    land(zone, run.plan.digest, "teacher", purpose="teacher")
    assert share_meter(run, zone, teacher_shard(run)).spent == Spent()
