import hashlib
import math
import re
import statistics

import pytest

from carryover.tasks.knapsack.instance import Instance, Item, Packing
from carryover.tasks.knapsack.knapsack_spec import KNAPSACK
from carryover.tasks.knapsack.sampling import find_rejection, inspection_budget, sample_instance
from carryover.tasks.services.errors import UserError
from carryover.tasks.services.source_digest import canonical_json


def make_draw(weights=(10, 10, 10, 10, 10), values=(30, 30, 40, 20, 20), capacity=30, optimal=(0, 1, 2), other_count=0):
    items = [
        Item(item_id=f"item_{index}", weight=weight, value=value, item_class="A")
        for index, (weight, value) in enumerate(zip(weights, values, strict=True))
    ]
    others = [Item(item_id=f"other_{index}", weight=10, value=10, item_class="Z") for index in range(other_count)]
    optimum = Packing(
        item_ids=tuple(f"item_{index}" for index in optimal),
        value=sum(values[index] for index in optimal),
        weight=sum(weights[index] for index in optimal),
    )
    return Instance(
        spec=KNAPSACK["easy"],
        seed=0,
        items=(*items, *others),
        capacity=capacity,
        inspection_budget=0,
        allowed_classes=("A",),
        optimum=optimum,
    )


def test_an_instance_is_a_function_of_its_seed_alone():
    assert sample_instance(KNAPSACK["easy"], 7) == sample_instance(KNAPSACK["easy"], 7)
    assert sample_instance(KNAPSACK["easy"], 7) != sample_instance(KNAPSACK["easy"], 8)


@pytest.mark.parametrize(
    ("bucket", "digest"),
    [
        ("easy", "20a2b8518bf89501"),
        ("hard", "894abb71477616b0"),
        ("small", "1877712c8de9d69f"),
        ("small_large", "9c00eb7a96525a73"),
        ("small_costly", "ed9f7b075ee7a542"),
    ],
)
def test_a_seed_names_the_same_instance_everywhere(bucket, digest):
    """Recorded episodes are compared by seed."""
    drawn = [sample_instance(KNAPSACK[bucket], seed) for seed in range(4)]
    assert hashlib.sha256("\n".join(map(canonical_json, drawn)).encode()).hexdigest()[:16] == digest


def test_items_are_sorted_by_an_opaque_id():
    instance = sample_instance(KNAPSACK["hard"], 3)
    item_ids = [item.item_id for item in instance.items]

    assert item_ids == sorted(set(item_ids))
    assert all(re.fullmatch(r"item_[0-9a-f]{12}", item_id) for item_id in item_ids)


def test_ids_of_small_buckets_are_syllables():
    instance = sample_instance(KNAPSACK["small"], 3)

    assert all(re.fullmatch(r"item_[b-z][aeiou]\d\d", item.item_id) for item in instance.items)


def test_attributes_lie_in_the_ranges_of_the_bucket():
    spec = KNAPSACK["easy"]
    for seed in range(50):
        instance = sample_instance(spec, seed)
        allowed_weight = sum(item.weight for item in instance.allowed_items)

        assert 25 <= len(instance.items) <= 40
        assert all(5 <= item.weight <= 20 and 10 <= item.value <= 100 for item in instance.items)
        assert len(instance.allowed_classes) == 3
        assert 0.35 * allowed_weight - 0.5 <= instance.capacity <= 0.50 * allowed_weight + 0.5


def test_a_good_draw_is_kept():
    assert find_rejection(KNAPSACK["easy"], make_draw()) is None


def test_fewer_than_five_allowed_items_are_rejected():
    draw = make_draw(weights=(10,) * 4, values=(30, 30, 40, 20))

    assert find_rejection(KNAPSACK["easy"], draw) == "few_allowed"


def test_a_capacity_below_the_lightest_allowed_item_is_rejected():
    assert find_rejection(KNAPSACK["easy"], make_draw(capacity=9)) == "capacity_too_small"


def test_an_optimal_set_of_two_is_rejected():
    assert find_rejection(KNAPSACK["easy"], make_draw(optimal=(0, 2))) == "small_optimum"


def test_an_item_above_two_fifths_of_the_optimum_is_rejected():
    assert find_rejection(KNAPSACK["easy"], make_draw(values=(30, 30, 40, 20, 20))) is None
    assert find_rejection(KNAPSACK["easy"], make_draw(values=(30, 30, 41, 20, 20))) == "dominance"


def test_a_seed_whose_draws_are_all_rejected_says_why():
    impossible = KNAPSACK["easy"].model_copy(update={"minimum_allowed_items": 41})

    with pytest.raises(UserError, match=r"seed 5: all 200 attempts were rejected \(few_allowed 200\)"):
        sample_instance(impossible, 5)


def test_the_nominal_budget_of_the_dataset_card_example():
    # 36 items and capacity 34: 1.5 x 34 / 12.5 / 0.2 = 20.4, so 21 of 36 items (58 %).
    draw = make_draw(capacity=34, other_count=31)

    assert inspection_budget(KNAPSACK["easy"], draw) == 21


def test_the_instance_budget_uses_the_items_themselves():
    # Mean weight 10 and 5 allowed of 20: 1.5 x 20 / 10 / 0.25 = 12.
    spec = KNAPSACK["easy"].model_copy(update={"budget_reading": "instance"})

    assert inspection_budget(spec, make_draw(capacity=20, other_count=15)) == 12
    assert inspection_budget(KNAPSACK["easy"], make_draw(capacity=20, other_count=15)) == math.ceil(0.6 * 20)


def test_the_budget_lies_between_five_and_the_item_count():
    assert inspection_budget(KNAPSACK["easy"], make_draw(capacity=5, optimal=(0,))) == 5
    assert inspection_budget(KNAPSACK["easy"], make_draw(capacity=100)) == 5
    assert inspection_budget(KNAPSACK["easy"], make_draw(capacity=100, other_count=2)) == 7


# Means over 1,500 Easy and 400 Hard instances of an independent implementation of the authors' rules.
REFERENCE_MEANS = {
    "easy": {"item_count": 33.7, "capacity": 46.9, "optimal": 4.3, "budget": 27.3, "allowed": 8.8},
    "hard": {"item_count": 99.8, "capacity": 276.0, "optimal": 11.9, "budget": 77.2, "allowed": 20.1},
}


@pytest.mark.parametrize(("bucket", "count"), [("easy", 1500), ("hard", 400)])
def test_means_agree_with_an_independent_implementation(bucket, count):
    instances = [sample_instance(KNAPSACK[bucket], seed) for seed in range(count)]
    measured = {
        "item_count": [len(instance.items) for instance in instances],
        "capacity": [instance.capacity for instance in instances],
        "optimal": [len(instance.optimum.item_ids) for instance in instances],
        "budget": [instance.inspection_budget for instance in instances],
        "allowed": [len(instance.allowed_items) for instance in instances],
    }

    assert len({instance.instance_id for instance in instances}) == count
    for name, values in measured.items():
        standard_error = statistics.stdev(values) / math.sqrt(count)
        assert abs(statistics.mean(values) - REFERENCE_MEANS[bucket][name]) <= 3 * math.sqrt(2) * standard_error, name
