"""Instances by bucket and seed: drawn, solved and validated."""

import hashlib
import math
import random
from collections.abc import Sequence

from carryover.tasks.knapsack.environment import KnapsackEnvironment, Outcome
from carryover.tasks.knapsack.instance import Instance, Item, Packing
from carryover.tasks.knapsack.knapsack_spec import KnapsackSpec
from carryover.tasks.services.errors import UserError

MAXIMUM_ATTEMPTS = 200
ATTEMPT_STRIDE = 1_000_003
"""Attempt k of a seed draws from seed + k strides (the authors' code)."""
SMALLEST_BUDGET = 5
"""Lower end of the inspection budget (arXiv 2603.01209, A.5)."""


def sample_instance(spec: KnapsackSpec, seed: int) -> Instance:
    """Return the instance of a seed.

    Raise `UserError` when 200 attempts are all rejected.
    """
    rejections: list[str] = []
    for attempt in range(MAXIMUM_ATTEMPTS):
        draw = draw_attempt(spec, seed, attempt)
        rejection = find_rejection(spec, draw)
        if rejection is None:
            return draw.model_copy(update={"inspection_budget": inspection_budget(spec, draw)})
        rejections.append(rejection)
    counts = ", ".join(f"{reason} {rejections.count(reason)}" for reason in sorted(set(rejections)))
    raise UserError(
        f"bucket {spec.bucket!r}, seed {seed}: all {MAXIMUM_ATTEMPTS} attempts were rejected ({counts}); "
        "widen the bucket's ranges or relax the rule that rejects"
    )


def draw_attempt(spec: KnapsackSpec, seed: int, attempt: int) -> Instance:
    """Draw items, allowed classes and capacity, and solve the result.

    It has no inspection budget yet.
    """
    generator = random.Random(seed + attempt * ATTEMPT_STRIDE)
    item_count = generator.randint(*spec.item_count)
    allowed = tuple(sorted(generator.sample(spec.classes, spec.allowed_class_count)))
    item_ids: dict[str, None] = {}  # in order of drawing
    while len(item_ids) < item_count:
        if spec.id_form == "hexadecimal":
            name = hashlib.sha256(generator.getrandbits(128).to_bytes(16, "big")).hexdigest()[:12]
        else:
            name = f"{generator.choice('bdfgklmnprstvz')}{generator.choice('aeiou')}{generator.randint(10, 99)}"
        item_ids[f"item_{name}"] = None
    items = tuple(
        Item(
            item_id=item_id,
            item_class=generator.choice(allowed if index == 0 else spec.classes),
            weight=generator.randint(*spec.weight),
            value=generator.randint(*spec.value),
        )
        for index, item_id in enumerate(item_ids)
    )
    allowed_items = [item for item in items if item.item_class in allowed]
    ratio = generator.uniform(*spec.capacity_ratio)
    capacity = max(1, round(ratio * sum(item.weight for item in allowed_items)))
    return Instance(
        spec=spec,
        seed=seed,
        items=tuple(sorted(items, key=lambda item: item.item_id)),
        capacity=capacity,
        inspection_budget=0,
        allowed_classes=allowed,
        optimum=solve(allowed_items, capacity),
    )


def find_rejection(spec: KnapsackSpec, draw: Instance) -> str | None:
    """Return the first broken rejection rule, or None (appendix A)."""
    if len(draw.allowed_items) < spec.minimum_allowed_items:
        return "few_allowed"
    if draw.capacity < min(item.weight for item in draw.allowed_items):
        return "capacity_too_small"  # the paper rejects; the authors' code raises the capacity
    if len(draw.optimum.item_ids) < spec.minimum_optimal_items:
        return "small_optimum"
    largest = max(item.value for item in draw.items if item.item_id in draw.optimum.item_ids)
    if largest / draw.optimum.value > spec.maximum_dominance:
        return "dominance"
    return None


def inspection_budget(spec: KnapsackSpec, draw: Instance) -> int:
    """Return how many distinct items may be inspected (A.5).

    1.5 times the number of items that a full knapsack holds, over the share of items that are allowed, at least 1.1
    times the optimal set, and in 5 to n. The nominal reading takes mean weight and share from the bucket; it is the
    one that the published coverage of 82 % (Easy) fits.
    """
    item_count = len(draw.items)
    if spec.budget_reading == "nominal":
        mean_weight = sum(spec.weight) / 2
        allowed_share = spec.allowed_class_count / len(spec.classes)
    else:
        mean_weight = sum(item.weight for item in draw.items) / item_count
        allowed_share = len(draw.allowed_items) / item_count
    estimate = 1.5 * draw.capacity / mean_weight / allowed_share
    floor = 1.1 * len(draw.optimum.item_ids)
    return min(max(math.ceil(max(estimate, floor)), SMALLEST_BUDGET), item_count)


def solve(items: Sequence[Item], capacity: int) -> Packing:
    """Return the most valuable items of weight at most `capacity`.

    Dynamic programming over capacities, O(items x capacity). Among equal optima the answer depends only on the order
    of the items: an item is left out unless it makes the value larger.
    """
    best = [0] * (capacity + 1)
    is_taken: list[bytearray] = []
    for item in items:
        row = bytearray(capacity + 1)
        weight = item.weight
        value = item.value
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


def validate(instance: Instance) -> Outcome:
    """Validate an instance by replaying its optimal set: score 1.

    Raises `UserError` when the stored optimum is not the exact one, does not fit the inspection budget, or
    does not score 1, and `ToolRuntimeException` when the environment refuses one of its items.
    """
    place = f"instance {instance.instance_id}"
    optimum = instance.optimum
    budget = instance.inspection_budget
    exact = solve(instance.allowed_items, instance.capacity).value
    if exact != optimum.value:
        raise UserError(f"{place}: stored optimum {optimum.value}, exact optimum {exact}; sample it again")
    if (count := len(optimum.item_ids)) > budget:
        raise UserError(f"{place}: the optimal set has {count} items, more than the inspection budget of {budget}")
    environment = KnapsackEnvironment(instance)
    for item_id in optimum.item_ids:
        environment.inspect(item_id)
        environment.take_item(item_id)
    environment.finish()
    outcome = environment.outcome()
    if outcome.score != 1.0:
        raise UserError(f"{place}: replaying the optimal set scores {outcome.score}, not 1")
    return outcome
