"""Which models of a plan are reinforced."""

from carryover.flows import reinforce_models as flow_module
from carryover.flows.reinforce_models import reinforce_models
from carryover.tasks.plans.resolve import resolve_plan


def test_models_of_reinforced_parts_are_reinforced(steps, own_home):
    calls = steps(
        flow_module,
        plan_reinforcement=lambda run, part, contract, seed: (part.name, contract, seed),
        trainings_at_once=3,
        this_machine="this machine",
        play_side_by_side=None,
    )
    reinforce_models.fn("smoke_rl")

    parts = [part for part in resolve_plan("smoke_rl").parts if part.reinforcement is not None]
    assert 0 < len(parts) < len(resolve_plan("smoke_rl").parts)
    expected = []
    for part in parts:
        for seed in part.training_seeds:
            expected += [(part.name, contract, seed) for contract in part.teacher.contracts]
    played = [call for call in calls if call[0] == "play_side_by_side"]
    assert [each for call in played for each in call[2]] == expected
    assert {call[3:] for call in played} == {(3, flow_module.submit_reinforcement, flow_module.note_reinforcement)}
    assert {call[3] for call in calls if call[0] == "trainings_at_once"} == {"this machine"}


def test_a_plan_without_reinforcements_reinforces_nothing(steps, own_home):
    calls = steps(flow_module, plan_reinforcement=None)
    reinforce_models.fn("smoke")
    assert calls == []
