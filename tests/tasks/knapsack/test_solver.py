import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from carryover.tasks.knapsack.instance import Item
from carryover.tasks.knapsack.sampling import solve


def make_items(*attributes):
    return [
        Item(item_id=f"item_{index}", weight=weight, value=value, item_class="A")
        for index, (weight, value) in enumerate(attributes)
    ]


def test_the_optimum_beats_greedy_by_density():
    # Density order takes item 0 (3.0) and then nothing else fits; items 1 and 2 are worth 24.
    packing = solve(make_items((6, 18), (5, 12), (5, 12)), capacity=10)

    assert packing == (("item_1", "item_2"), 24, 10)


def test_an_item_of_exactly_the_capacity_fits():
    assert solve(make_items((10, 7)), capacity=10) == (("item_0",), 7, 10)


def test_nothing_fits_into_too_small_a_knapsack():
    assert solve(make_items((10, 7)), capacity=9) == ((), 0, 0)


def test_no_items_are_worth_nothing():
    assert solve([], capacity=9) == ((), 0, 0)


def test_among_equal_optima_the_earlier_item_is_taken():
    assert solve(make_items((4, 5), (4, 5)), capacity=4).item_ids == ("item_0",)


@settings(max_examples=60, deadline=None)
@given(
    attributes=st.lists(st.tuples(st.integers(1, 12), st.integers(1, 30)), max_size=8),
    capacity=st.integers(0, 40),
)
def test_the_optimum_equals_exhaustive_search(attributes, capacity):
    items = make_items(*attributes)
    subsets = itertools.chain.from_iterable(itertools.combinations(items, size) for size in range(len(items) + 1))
    best = max(
        sum(item.value for item in subset) for subset in subsets if sum(item.weight for item in subset) <= capacity
    )

    packing = solve(items, capacity)

    chosen = [item for item in items if item.item_id in packing.item_ids]
    assert packing.value == best == sum(item.value for item in chosen)
    assert packing.weight == sum(item.weight for item in chosen) <= capacity
