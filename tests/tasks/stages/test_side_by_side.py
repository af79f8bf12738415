"""How many trainings share a machine, by its memory and its processors."""

from pathlib import Path

import pytest

from carryover.tasks.plans.resolve import resolve_plan
from carryover.tasks.plans.run import Limits, Run
from carryover.tasks.sft.machine import Machine, training_need
from carryover.tasks.sft.train import TrainingJob
from carryover.tasks.sft.training_spec import TRAINING
from carryover.tasks.stages.side_by_side import trainings_at_once
from carryover.tasks.train import PlannedTraining

NEED = training_need(TRAINING["smoke"]).memory_bytes
assert NEED is not None


def _run(**limits):
    plan = resolve_plan("smoke")
    return Run(run_id="r", plan=plan, home=Path("/d"), landing="/d/landing", generation="g", limits=Limits(**limits))


def _training(contract, spec="smoke"):
    job = TrainingJob(
        spec=TRAINING[spec], dataset=Path("/d/x.jsonl"), output=Path("/d/models/x"), contract=contract, seed=1
    )
    return PlannedTraining(name=contract, identity="i", variant="main", base="scratch", dataset_id="d", job=job)


@pytest.mark.parametrize(
    ("memory", "limits", "processors_hold", "at_once"),
    [
        (2 * NEED, {}, 2, 2),
        (2 * NEED - 1, {}, 2, 1),
        (NEED - 1, {}, 2, 1),
        (None, {}, 2, 2),  # unknown
        (2 * NEED, {"trainings_at_once": 1}, 2, 1),
        (NEED, {"trainings_at_once": 3}, 2, 3),
        (2 * NEED, {}, 3, 2),
        (3 * NEED, {}, 3, 3),
        (9 * NEED, {"trainings_per_gpu": 3}, 2, 2),
    ],
)
def test_trainings_share_a_machine_that_holds_them(monkeypatch, memory, limits, processors_hold, at_once):
    monkeypatch.setattr("carryover.tasks.stages.side_by_side.AT_ONCE", processors_hold)
    trainings = [_training(contract) for contract in ("persistent", "stateless", "recent-2")]
    assert trainings_at_once(_run(**limits), trainings, Machine(None, memory)) == at_once


@pytest.mark.parametrize(
    ("gpus", "limits", "at_once"),
    [
        ([], {}, 3),  # seen by the trainings alone
        ([], {"trainings_at_once": 2}, 2),
        (["0", "1"], {}, 2),
        (["0", "1"], {"gpus_per_training": 2}, 1),
        (["0"], {"trainings_per_gpu": 2}, 2),
        (["0"], {"trainings_per_gpu": 6}, 3),
    ],
)
def test_as_many_trainings_as_gpus_have_places_for(monkeypatch, gpus, limits, at_once):
    monkeypatch.setattr("carryover.tasks.stages.side_by_side.visible_gpus", lambda _: gpus)
    trainings = [_training(contract, "paper") for contract in ("persistent", "stateless", "recent-2")]
    assert trainings_at_once(_run(**limits), trainings, Machine("some GPU", NEED)) == at_once
