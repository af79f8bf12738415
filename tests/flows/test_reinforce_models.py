"""Which models of a plan are reinforced, in which groups."""

from contextlib import nullcontext
from types import SimpleNamespace

from carryover.flows import reinforce_models as flow_module
from carryover.flows.reinforce_models import reinforce_models
from carryover.tasks.plans.resolve import resolve_plan


def test_models_of_reinforced_parts_are_reinforced_in_groups(steps, own_home):
    calls = steps(
        flow_module,
        plan_reinforcement=lambda run, part, contract, seed: (part.name, contract, seed),
        side_by_side=lambda run, planned, machine: [planned[:1], planned[1:]],
        this_machine="this machine",
        submit_reinforcement=lambda run, each: SimpleNamespace(result=lambda: f"model of {each}"),
        interruptible=lambda run_id, futures: nullcontext(),
        note_reinforcement=None,
    )
    reinforce_models.fn("smoke_rl")

    parts = [part for part in resolve_plan("smoke_rl").parts if part.reinforcement is not None]
    assert 0 < len(parts) < len(resolve_plan("smoke_rl").parts)
    expected = []
    for part in parts:
        for seed in part.training_seeds:
            expected += [(part.name, contract, seed) for contract in part.teacher.contracts]
    noted = [call[2:] for call in calls if call[0] == "note_reinforcement"]
    assert noted == [(each, f"model of {each}") for each in expected]
    assert {call[3] for call in calls if call[0] == "side_by_side"} == {"this machine"}
    stopped = [len(call[2]) for call in calls if call[0] == "interruptible"]
    assert stopped == [1, len(expected) // len(parts) - 1] * len(parts)


def test_a_plan_without_reinforcements_reinforces_nothing(steps, own_home):
    calls = steps(flow_module, plan_reinforcement=None)
    reinforce_models.fn("smoke")
    assert calls == []
