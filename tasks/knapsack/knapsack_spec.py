"""Difficulty buckets of the Opaque Knapsack, as ranges."""

from typing import Literal, Self

from pydantic import model_validator

from carryover.tasks.services.frozen_model import FrozenModel

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


class KnapsackSpec(FrozenModel):
    """Ranges and rejection rules of one bucket (arXiv 2603.01209, appendix A)."""

    bucket: str
    item_count: tuple[int, int]
    """Number of items, uniform, both ends included."""
    weight: tuple[int, int]
    """Weight of an item, uniform integer, both ends included."""
    value: tuple[int, int]
    """Value of an item, uniform integer, both ends included."""
    classes: str
    """One letter per class of the universe."""
    allowed_class_count: int
    """Number of classes that may be taken."""
    capacity_ratio: tuple[float, float]
    """Capacity as a share of the total weight of allowed items, uniform."""
    minimum_allowed_items: int = 5
    """Fewer allowed items reject a draw; the authors' code has the rule, the paper does not state it."""
    minimum_optimal_items: int = 3
    """A smaller optimal set rejects a draw (appendix A)."""
    maximum_dominance: float = 0.40
    """A draw is rejected when one item's share of the optimal value is larger (appendix A)."""
    budget_reading: Literal["nominal", "instance"] = "nominal"
    """Whether the budget uses the bucket's mean weight and share of allowed classes, or the instance's own (A.5)."""
    id_form: Literal["hexadecimal", "syllable"] = "hexadecimal"
    """`item_` and 12 hexadecimal digits, or a consonant, a vowel and two digits for models that copy badly."""
    refusal_cost: int = 0
    """Capacity lost, in weight units, whenever a disallowed class is taken; 0 in the paper, where trying is free."""
    tool_call_cap: int | None = 25
    """Tool calls allowed per turn unless a plan says otherwise; None for no cap."""

    @model_validator(mode="after")
    def _ranges_make_sense(self) -> Self:
        for field in ("item_count", "weight", "value", "capacity_ratio"):
            low, high = getattr(self, field)
            if not 0 < low <= high:
                raise ValueError(f"{field} {(low, high)} of bucket {self.bucket!r} must be positive and ascending")
        if not 0 < self.allowed_class_count <= len(self.classes):
            raise ValueError(
                f"allowed_class_count {self.allowed_class_count} of bucket {self.bucket!r} "
                f"must be in 1 to {len(self.classes)}, the number of classes"
            )
        return self


# Not of the paper: instances that models of a million parameters can play. The cap leaves room for a block that
# lists, inspects and tries to take every item (2n + 3), so that it never binds by accident.
_SMALL = KnapsackSpec(
    bucket="small",
    item_count=(8, 11),
    weight=(5, 20),
    value=(10, 99),
    classes=LETTERS[:4],
    allowed_class_count=2,
    capacity_ratio=(0.45, 0.75),
    minimum_allowed_items=3,
    minimum_optimal_items=2,
    maximum_dominance=0.60,
    id_form="syllable",
    tool_call_cap=25,
)
_LARGE = {"item_count": (12, 15), "weight": (5, 30), "classes": LETTERS[:5], "capacity_ratio": (0.45, 0.65)}

KNAPSACK: dict[str, KnapsackSpec] = {
    # Appendix A; the authors' code calls the second one `medium`.
    "easy": KnapsackSpec(
        bucket="easy",
        item_count=(25, 40),
        weight=(5, 20),
        value=(10, 100),
        classes=LETTERS[:15],
        allowed_class_count=3,
        capacity_ratio=(0.35, 0.50),
    ),
    "hard": KnapsackSpec(
        bucket="hard",
        item_count=(80, 120),
        weight=(5, 50),
        value=(10, 500),
        classes=LETTERS,
        allowed_class_count=5,
        capacity_ratio=(0.40, 0.60),
    ),
    "small": _SMALL,
    "small_large": _SMALL.model_copy(update={"bucket": "small_large", **_LARGE, "tool_call_cap": 35}),
    # Trying a class again that was refused before costs about 11 points of normalized optimality over an episode.
    "small_costly": _SMALL.model_copy(update={"bucket": "small_costly", "refusal_cost": 4}),
}
"""The buckets by name."""


def open_bucket(name: str) -> KnapsackSpec:
    """Return the bucket of that name.

    Raise `ValueError` naming the choices for any other.
    """
    if name not in KNAPSACK:
        raise ValueError(f"unknown bucket {name!r}; choose from {', '.join(KNAPSACK)}")
    return KNAPSACK[name]
