"""The study of reinforcement starts from the models of the laptop study, and costs under an hour of two cores."""

import pytest

from carryover.tasks.plans.estimate import estimate_study
from carryover.tasks.plans.models import reinforcement_name, training_name
from carryover.tasks.plans.resolve import resolve_plan
from carryover.tasks.services.limits import Prices
from tests.flattening import flat


@pytest.fixture(scope="module")
def plan():
    return resolve_plan("laptop_rl")


def test_each_model_is_reinforced_in_both_runtimes(plan):
    plain, other, own = plan.parts
    assert plain.reinforcement is None
    played = {
        part.name: {name: part.reinforced_under(name) for name in part.teacher.contracts} for part in (other, own)
    }
    assert played == {
        "rl-other": {"persistent": "stateless", "stateless": "persistent"},
        "rl-own": {"persistent": "persistent", "stateless": "stateless"},
    }


def test_reinforcements_share_their_start(plan):
    assert len({training_name(part, "persistent", 1) for part in plan.parts}) == 1
    assert len({reinforcement_name(part, "persistent", 1) for part in plan.parts[1:]}) == 2
    assert [evaluation.variant for evaluation in flat(part.evaluations for part in plan.parts)] == [
        None,
        "rl-other",
        "rl-own",
    ]


def test_a_seed_costs_under_an_hour_of_two_cores(plan):
    rows = estimate_study(plan, Prices(), concurrency=100)
    assert sum("GRPO" in row.stage for row in rows) == 4
    assert sum(row.hours for row in rows) < 1


def test_a_plan_without_reinforcement_keeps_its_digest():
    assert "reinforcement" not in resolve_plan("laptop").model_dump_json()


def test_a_reinforcement_wants_two_whole_models(plan):
    part = plan.parts[1]
    alone = part.teacher.model_dump() | {"contracts": ("persistent",)}
    with pytest.raises(ValueError, match="whole models of two contracts"):
        type(part).model_validate(part.model_dump() | {"teacher": alone})
