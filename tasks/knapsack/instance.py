"""An Opaque Knapsack instance: frozen data, identified by its content."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from carryover.tasks.knapsack.knapsack_spec import KnapsackSpec
from carryover.tasks.services.frozen_model import FrozenModel
from carryover.tasks.traces.rows import InstanceRow, ItemRow
from carryover.tasks.traces.vocabulary import Split

_COLUMNS = ("instance_id", "bucket", "task_id", "seed", "capacity", "inspection_budget", "allowed_classes")


class Item(FrozenModel):
    """An item; its attributes are hidden until it is inspected."""

    item_id: str
    weight: int
    value: int
    item_class: str


class Packing(NamedTuple):
    """A set of items that fits."""

    item_ids: tuple[str, ...]
    """Sorted."""
    value: int
    weight: int


class Instance(FrozenModel):
    """A knapsack problem with its reference solution (arXiv 2603.01209, section 3)."""

    spec: KnapsackSpec
    """Bucket that it was drawn from."""
    seed: int
    """Seed that it is a function of; hidden from the agent."""
    items: tuple[Item, ...]
    """Sorted by id, so that their order says nothing about their attributes."""
    capacity: int
    """Largest total weight."""
    inspection_budget: int
    """Number of distinct items that may be inspected."""
    allowed_classes: tuple[str, ...]
    """Classes that may be taken, sorted; hidden from the agent."""
    optimum: Packing
    """One optimal set; hidden from the agent."""

    @property
    def instance_id(self) -> str:
        """Content hash: what the problem is, whatever seed it came from."""
        content = {
            "items": [[item.item_id, item.weight, item.value, item.item_class] for item in self.items],
            "capacity": self.capacity,
            "inspection_budget": self.inspection_budget,
            "allowed_classes": self.allowed_classes,
        }
        if self.spec.refusal_cost:  # the same items under another rule are another problem
            content["refusal_cost"] = self.spec.refusal_cost
        canonical = json.dumps(content, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(canonical.encode()).hexdigest()[:24]

    @property
    def task_id(self) -> str:
        """The authors' form of a name, kept for export.

        It reveals the seed, so no agent sees it.
        """
        return f"knapsack-{self.seed:010d}"

    @property
    def bucket(self) -> str:
        """Name of the bucket."""
        return self.spec.bucket

    @property
    def classes(self) -> tuple[str, ...]:
        """Classes that occur among the items, sorted: what the prompt may show."""
        return tuple(sorted({item.item_class for item in self.items}))

    @property
    def allowed_items(self) -> tuple[Item, ...]:
        """Items of an allowed class."""
        return tuple(item for item in self.items if item.item_class in self.allowed_classes)


def instance_rows(instance: Instance, run_id: str, split: Split) -> tuple[InstanceRow, list[ItemRow]]:
    """Return the instance and its items as rows of the warehouse."""
    instance_row = InstanceRow(
        run_id=run_id,
        split=split,
        **{name: getattr(instance, name) for name in _COLUMNS},
        item_count=len(instance.items),
        class_universe=instance.classes,
        optimal_item_ids=instance.optimum.item_ids,
        optimal_value=instance.optimum.value,
        optimal_weight=instance.optimum.weight,
        spec_json=json.dumps(instance.spec.model_dump(mode="json"), sort_keys=True),
    )
    item_rows = [
        ItemRow(
            run_id=run_id,
            instance_id=instance.instance_id,
            **item.model_dump(),
            is_allowed=item.item_class in instance.allowed_classes,
            is_optimal=item.item_id in instance.optimum.item_ids,
        )
        for item in instance.items
    ]
    return instance_row, item_rows


def instance_of_row(row: Mapping[str, Any]) -> Instance:
    """Return the instance of a warehouse row with its `items`."""
    return Instance(
        spec=KnapsackSpec.model_validate_json(row["spec_json"]),
        seed=row["seed"],
        items=tuple(sorted((Item(**item) for item in row["items"]), key=lambda item: item.item_id)),
        capacity=row["capacity"],
        inspection_budget=row["inspection_budget"],
        allowed_classes=tuple(row["allowed_classes"]),
        optimum=Packing(tuple(row["optimal_item_ids"]), row["optimal_value"], row["optimal_weight"]),
    )
