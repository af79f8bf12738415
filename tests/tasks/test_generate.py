"""Instances land with their items."""

import pytest

from carryover.storage.zone.landing import LandingZone
from carryover.tasks.generate import generate_instance_set
from carryover.tasks.plans.overrides import Overrides
from carryover.tasks.plans.resolve import resolve_plan
from carryover.tasks.plans.run import Limits
from carryover.tasks.services.errors import UserError
from carryover.tasks.stages.runs import start_run
from tests.tasks.families.written import written


def test_instances_land_with_their_items(tmp_path, monkeypatch):
    monkeypatch.setenv("CARRYOVER_HOME", str(tmp_path))
    monkeypatch.delenv("CARRYOVER_LANDING", raising=False)
    with start_run("toy", resolve_plan("smoke", Overrides(train_count=2)), Limits()) as run:
        names = generate_instance_set.fn(run, run.plan.parts[0].train_instances)
    zone = LandingZone(run.landing)
    assert len(names) == 2
    assert sorted(zone.scan("instances").collect()["instance_id"]) == sorted(names)
    assert set(zone.scan("items").collect()["instance_id"]) == set(names)


def test_seeds_that_repeat_an_instance_are_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("CARRYOVER_HOME", str(tmp_path))
    monkeypatch.delenv("CARRYOVER_LANDING", raising=False)
    repeating = written(tmp_path / "mine", {'random.Random(f"{bucket} {seed}")': "random.Random(seed % 8)"})
    plan = resolve_plan("smoke", Overrides(family=repeating, train_count=10))
    told = r"bucket few: 10 seeds give 8 distinct .* or lower --train-count"
    with pytest.raises(UserError, match=told), start_run("toy", plan, Limits()) as run:
        generate_instance_set.fn(run, run.plan.parts[0].train_instances)
