import json

from carryover.tasks.knapsack.instance import instance_rows
from carryover.tasks.knapsack.knapsack_spec import KNAPSACK
from carryover.tasks.knapsack.sampling import sample_instance
from carryover.tasks.traces.rows import InstanceRow, ItemRow


def changed_items(item):
    changes = {"item_id": "item_xx00", "weight": item.weight + 1, "value": item.value + 1, "item_class": "Z"}
    return [item.model_copy(update={name: value}) for name, value in changes.items()]


def test_an_id_is_the_same_everywhere():
    """Kept rows name instances by it."""
    ids = [sample_instance(KNAPSACK[bucket], 0).instance_id for bucket in ("small", "small_costly", "easy")]
    assert ids == ["9ca56f1af6a7b77929931bc4", "1a8be8cf65076aa1be9fe36a", "7c8e12ce0ea2d4a228c47acb"]


def test_the_id_is_the_content_and_not_the_seed():
    instance = sample_instance(KNAPSACK["small"], 1)

    assert instance.instance_id == instance.model_copy(update={"seed": 2}).instance_id
    assert len(instance.instance_id) == 24
    for change in (
        {"capacity": 1},
        {"inspection_budget": 1},
        {"allowed_classes": ("D",)},
        {"items": instance.items[1:]},
        *({"items": (changed, *instance.items[1:])} for changed in changed_items(instance.items[0])),
        {"spec": instance.spec.model_copy(update={"refusal_cost": 4})},
    ):
        assert instance.instance_id != instance.model_copy(update=change).instance_id


def test_the_id_survives_json():
    instance = sample_instance(KNAPSACK["small"], 1)

    assert type(instance).model_validate_json(instance.model_dump_json()).instance_id == instance.instance_id


def test_the_task_id_has_the_authors_form():
    assert sample_instance(KNAPSACK["small"], 42).task_id == "knapsack-0000000042"


def test_rows_hold_the_instance_and_mark_its_items():
    instance = sample_instance(KNAPSACK["easy"], 5)
    optimum = instance.optimum

    instance_row, item_rows = instance_rows(instance, "run", "train")

    assert instance_row == InstanceRow(
        run_id="run",
        instance_id=instance.instance_id,
        split="train",
        bucket="easy",
        task_id="knapsack-0000000005",
        seed=5,
        item_count=len(instance.items),
        capacity=instance.capacity,
        inspection_budget=instance.inspection_budget,
        class_universe=tuple(sorted({item.item_class for item in instance.items})),
        allowed_classes=instance.allowed_classes,
        optimal_item_ids=optimum.item_ids,
        optimal_value=optimum.value,
        optimal_weight=optimum.weight,
        spec_json=json.dumps(KNAPSACK["easy"].model_dump(mode="json"), sort_keys=True),
    )
    for row, item in zip(item_rows, instance.items, strict=True):
        assert row == ItemRow(
            run_id="run",
            instance_id=instance.instance_id,
            item_id=item.item_id,
            weight=item.weight,
            value=item.value,
            item_class=item.item_class,
            is_allowed=item.item_class in instance.allowed_classes,
            is_optimal=item.item_id in optimum.item_ids,
        )
    assert sum(row.is_allowed for row in item_rows) == len(instance.allowed_items) > len(optimum.item_ids)
