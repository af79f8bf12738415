"""What a stage opens: a run of its own, or one that is there."""

from contextlib import contextmanager

import pytest

from carryover.flows import stage_flows
from carryover.flows.stage_flows import stage_flow
from carryover.tasks.plans.overrides import Overrides
from carryover.tasks.plans.presets import DEFAULT_PLAN
from carryover.tasks.plans.resolve import resolve_plan
from carryover.tasks.plans.run import Limits
from carryover.tasks.services.errors import UserError

LIMITS = Limits(max_tokens_total=7)


@pytest.fixture
def opened(monkeypatch):
    """Runs that stages open, in words."""
    told = []

    @contextmanager
    def start_run(name, plan, limits):
        told.append(("start", name, plan, limits))
        yield "a run"

    @contextmanager
    def join_run(name, run_id, limits, *, is_of_plans_source):
        told.append(("join", name, run_id, limits, is_of_plans_source))
        yield "a run"

    monkeypatch.setattr(stage_flows, "start_run", start_run)
    monkeypatch.setattr(stage_flows, "join_run", join_run)
    return told


def stage(played, **settings):
    def play(run) -> None:
        """Play."""
        played.append(run)

    return stage_flow("playing", **settings)(play)


def test_a_stage_starts_a_run_of_the_named_plan(opened):
    played = []
    flow = stage(played)
    flow.fn(limits=LIMITS)
    flow.fn(scale="smoke", overrides=Overrides(train_count=3))
    assert played == ["a run", "a run"]
    assert opened == [
        ("start", "play", resolve_plan(DEFAULT_PLAN), LIMITS),
        ("start", "play", resolve_plan("smoke", Overrides(train_count=3)), Limits()),
    ]
    assert flow.name == "play"
    assert str(flow.fn.__doc__).startswith("Play.")


@pytest.mark.parametrize(("settings", "is_of_plans_source"), [({}, True), ({"is_of_plans_source": False}, False)])
def test_a_stage_joins_a_run_of_its_plans_source(opened, settings, is_of_plans_source):
    stage([], **settings).fn(run_id="r", limits=LIMITS)
    assert opened == [("join", "play", "r", LIMITS, is_of_plans_source)]


@pytest.mark.parametrize("given", [{"scale": "smoke"}, {"overrides": Overrides(train_count=3)}])
def test_a_joined_run_has_a_plan_already(opened, given):
    with pytest.raises(UserError, match="run r has a plan already; leave scale and overrides out"):
        stage([]).fn(run_id="r", **given)
    assert opened == []
