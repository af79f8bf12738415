"""The exact optimum of a 0/1 knapsack."""

from collections.abc import Sequence

from carryover.tasks.knapsack.instance import Item, Packing


def solve(items: Sequence[Item], capacity: int) -> Packing:
    """Return a set of items of the largest total value whose weight is at most `capacity`.

    Dynamic programming over capacities, O(items x capacity). Among equal optima the answer depends only on the order
    of the items: an item is left out unless it makes the value larger.
    """
    best = [0] * (capacity + 1)
    is_taken: list[bytearray] = []
    for item in items:
        row = bytearray(capacity + 1)
        weight, value = item.weight, item.value
        for room in range(capacity, weight - 1, -1):
            with_item = best[room - weight] + value
            if with_item > best[room]:
                best[room] = with_item
                row[room] = 1
        is_taken.append(row)
    chosen: list[Item] = []
    room = capacity
    for item, row in zip(reversed(items), reversed(is_taken), strict=True):
        if row[room]:
            chosen.append(item)
            room -= item.weight
    return Packing(
        item_ids=tuple(sorted(item.item_id for item in chosen)),
        value=best[capacity],
        weight=sum(item.weight for item in chosen),
    )
