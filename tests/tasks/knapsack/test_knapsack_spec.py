import pytest
from pydantic import ValidationError

from carryover.tasks.knapsack.knapsack_spec import KNAPSACK, open_bucket


def test_every_bucket_knows_its_own_name():
    assert {name: spec.bucket for name, spec in KNAPSACK.items()} == {name: name for name in KNAPSACK}


def test_the_hard_bucket_has_the_ranges_of_the_paper():
    hard = KNAPSACK["hard"]

    assert (hard.item_count, hard.weight, hard.value) == ((80, 120), (5, 50), (10, 500))
    assert (len(hard.classes), hard.allowed_class_count, hard.capacity_ratio) == (26, 5, (0.40, 0.60))


@pytest.mark.parametrize("bucket", ["small", "small_large"])
def test_caps_of_small_buckets_allow_every_item_in_one_block(bucket):
    spec = KNAPSACK[bucket]

    assert spec.tool_call_cap is not None
    assert spec.tool_call_cap >= 2 * spec.item_count[1] + 3


def test_an_unknown_bucket_is_named_with_the_choices():
    with pytest.raises(ValueError, match="unknown bucket 'medium'; choose from easy, hard"):
        open_bucket("medium")


def test_a_descending_range_is_refused():
    with pytest.raises(ValidationError, match="must be positive and ascending"):
        KNAPSACK["easy"].model_validate({**KNAPSACK["easy"].model_dump(), "weight": (20, 5)})


def test_more_allowed_classes_than_classes_are_refused():
    with pytest.raises(ValidationError, match="must be in 1 to 15"):
        KNAPSACK["easy"].model_validate({**KNAPSACK["easy"].model_dump(), "allowed_class_count": 16})
