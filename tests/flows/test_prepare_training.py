"""Prepared data come from the cache, and their files are there all the same."""

import shutil

import pytest
from prefect.settings import PREFECT_API_URL, PREFECT_HOME, temporary_settings

from carryover.flows import generate_instances as instances_module
from carryover.flows import prepare_training as training_module
from carryover.flows.collect_traces import collect_traces
from carryover.flows.generate_instances import generate_instances
from carryover.flows.prepare_training import prepare_training
from carryover.storage.zone.landing import LandingZone
from carryover.tasks.plans.overrides import Overrides
from carryover.tasks.plans.resolve import resolve_plan
from carryover.tasks.plans.run import Limits
from carryover.tasks.stages.runs import start_run
from carryover.tasks.stages.training_data import read_training_data

FEW = Overrides(train_count=12)


@pytest.mark.prefect
@pytest.mark.timeout(1500)
def test_flow_restores_deleted_or_changed_training_data(prefect_api, tmp_path, monkeypatch):
    monkeypatch.setenv("CARRYOVER_HOME", str(tmp_path))
    monkeypatch.setenv("DO_NOT_TRACK", "1")
    with temporary_settings({PREFECT_API_URL: prefect_api, PREFECT_HOME: tmp_path / "prefect"}):
        generate_instances("smoke", FEW)
        collect_traces("smoke", FEW)
        prepare_training("smoke", FEW)
        with start_run("look", resolve_plan("smoke", FEW), Limits()) as run:
            (part,) = run.plan.parts
        first = read_training_data(run, part)
        checks = LandingZone(run.landing).read("check_results").num_rows

        prepare_training("smoke", FEW)
        assert read_training_data(run, part) == first
        assert LandingZone(run.landing).read("check_results").num_rows == checks  # from the cache

        for path in first.paths.values():
            path.write_bytes(b"")
        prepare_training("smoke", FEW)
        assert read_training_data(run, part) == first

        shutil.rmtree(run.folders.datasets)
        prepare_training("smoke", FEW)
    assert read_training_data(run, part) == first
    assert all(path.stat().st_size for path in first.paths.values())


def test_every_instance_set_and_part_is_provided(steps, own_home):
    plan = resolve_plan("laptop_full")
    provided = steps(instances_module, provide_instances=None)
    generate_instances.fn("laptop_full")
    assert [instance_set for _, _, instance_set in provided] == list(plan.instance_sets())

    calls = steps(
        training_module, open_tokenizer=lambda run, part: f"tokenizer of {part.name}", provide_training_data=None
    )
    prepare_training.fn("laptop_full")
    prepared = [call[2:] for call in calls if call[0] == "provide_training_data"]
    assert prepared == [(part, f"tokenizer of {part.name}") for part in plan.parts]
