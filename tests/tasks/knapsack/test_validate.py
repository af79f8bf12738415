import pytest

from carryover.tasks.knapsack.family import Knapsack
from carryover.tasks.knapsack.instance import Packing
from carryover.tasks.knapsack.knapsack_spec import KNAPSACK
from carryover.tasks.knapsack.sampling import sample_instance, validate
from carryover.tasks.services.errors import UserError


@pytest.mark.parametrize("bucket", list(KNAPSACK))
def test_replaying_the_optimal_set_scores_one(bucket):
    for seed in range(25):
        outcome = validate(sample_instance(KNAPSACK[bucket], seed))

        assert outcome.score == 1.0
        assert outcome.is_solved


def test_a_wrong_optimum_is_found():
    instance = sample_instance(KNAPSACK["small"], 1)
    item = instance.allowed_items[0]
    wrong = instance.model_copy(update={"optimum": Packing((item.item_id,), item.value, item.weight)})

    with pytest.raises(UserError, match=r"stored optimum .* exact optimum"):
        validate(wrong)
    with pytest.raises(UserError, match=r"stored optimum .* exact optimum"):
        Knapsack().validate(wrong)


def test_an_optimal_set_beyond_the_budget_is_found():
    instance = sample_instance(KNAPSACK["small"], 1)

    with pytest.raises(UserError, match="more than the inspection budget of 1"):
        validate(instance.model_copy(update={"inspection_budget": 1}))


def test_an_optimal_set_below_its_value_is_found():
    instance = sample_instance(KNAPSACK["small"], 1)
    optimum = instance.optimum
    less = instance.model_copy(update={"optimum": optimum._replace(item_ids=optimum.item_ids[1:])})

    with pytest.raises(UserError, match=r"replaying the optimal set scores 0\.\d+, not 1"):
        validate(less)
