"""The world of an episode behind four tools, on the host only."""

import inspect
import json
from collections.abc import Callable
from typing import Any, NamedTuple

from carryover.tasks.agent.family import Score
from carryover.tasks.knapsack.instance import Instance, Item
from carryover.tasks.runtime.inside.tools import ToolInvocationException, ToolRuntimeException

TOOL_NAMES: tuple[str, ...] = ("inspect", "take_item", "list_items", "finish")
"""In the order in which prompts document them (arXiv 2603.01209, appendix B)."""
KNOWN_NAMES: tuple[str, ...] = ("seen", "taken", "refused", "budget", "room")
"""Names that a contract with injected objects binds before each block."""


class Outcome(NamedTuple):
    """Result of an episode so far.

    Items already taken count however it ended.
    """

    value_taken: int
    weight_taken: int
    taken_item_ids: tuple[str, ...]
    """In order of taking."""
    inspected_count: int
    score: float
    """Normalized optimality: value taken / optimal value; 0 for a state over capacity."""
    is_solved: bool


class KnapsackEnvironment:
    """Budget, ledger and tools of one episode (arXiv 2603.01209, Table 4).

    Class validity is learnt from `take_item` alone, and only about inspected items: an error about an item that was
    not inspected never depends on its attributes.
    """

    def __init__(self, instance: Instance) -> None:
        self._instance = instance
        self._items = {item.item_id: item for item in instance.items}
        self._inspected: dict[str, None] = {}
        self._taken: dict[str, Item] = {}
        self._refused: list[str] = []
        self._lost_capacity = 0
        self.is_over = False
        """Whether `finish` was called."""
        self.tools: dict[str, Callable[..., Any]] = {name: getattr(self, name) for name in TOOL_NAMES}
        """The tools by name, in the order of the documentation."""

    def inspect(self, item_id: str) -> str:
        """Reveal an item: JSON text with its class, value and weight.

        The first inspection of an item costs one unit of the inspection budget; later ones are free.
        Fails for an unknown id, and when the budget is spent.
        """
        item = self._find(item_id)
        if item_id not in self._inspected:
            budget = self._instance.inspection_budget
            if len(self._inspected) >= budget:
                raise ToolRuntimeException(f"Inspection budget is spent: {len(self._inspected)} of {budget} used.")
            self._inspected[item_id] = None
        content = {"class": item.item_class, "value": item.value, "weight": item.weight}
        return json.dumps(content, sort_keys=True, separators=(",", ":"))

    def take_item(self, item_id: str) -> None:
        """Put an inspected item into the knapsack for good.

        Fails for an unknown id, an item already taken, one not inspected, one of a disallowed class, and one that
        exceeds the capacity.
        """
        item = self._find(item_id)
        if item_id in self._taken:
            raise ToolRuntimeException(f"Item {item_id} is already taken.")
        if item_id not in self._inspected:
            raise ToolRuntimeException(f"Item {item_id} must be inspected before it is taken.")
        if item.item_class not in self._instance.allowed_classes:
            if item.item_class not in self._refused:
                self._refused.append(item.item_class)
            self._lost_capacity += self._instance.spec.refusal_cost  # 0 but in buckets where mistakes cost score
            raise ToolRuntimeException(f"Item {item_id} is of the disallowed class {item.item_class}.")
        load = self._load()
        capacity = self._instance.capacity - self._lost_capacity
        if load + item.weight > capacity:
            raise ToolRuntimeException(
                f"Item {item_id} exceeds capacity: load {load} + weight {item.weight} > capacity {capacity}."
            )
        self._taken[item_id] = item

    def list_items(self) -> str:
        """Return JSON text: the list of all item ids, sorted."""
        return json.dumps(sorted(self._items))

    def finish(self) -> None:
        """End the episode; the items taken so far are the answer."""
        self.is_over = True

    def outcome(self) -> Outcome:
        """Return value, weight, counts and score of the present state."""
        optimum = self._instance.optimum.value
        value = sum(item.value for item in self._taken.values())
        weight = self._load()
        is_feasible = weight <= self._instance.capacity
        return Outcome(
            value_taken=value,
            weight_taken=weight,
            taken_item_ids=tuple(self._taken),
            inspected_count=len(self._inspected),
            score=value / optimum if is_feasible else 0.0,
            is_solved=is_feasible and value == optimum,
        )

    def score(self) -> Score:
        """Return the outcome as the row of an episode holds it."""
        outcome = self.outcome()
        metrics = {
            "value_taken": outcome.value_taken,
            "weight_taken": outcome.weight_taken,
            "taken_count": len(outcome.taken_item_ids),
            "inspected_count": outcome.inspected_count,
        }
        return Score(outcome.score, outcome.is_solved, metrics, columns=tuple(metrics))

    def known(self) -> dict[str, Any]:
        """Return the agent's knowledge as objects by name, for injection.

        `seen` is a pandas frame of the inspected items by id, in order of inspection, with class, value and weight;
        `taken` lists item ids and `refused` classes; `budget` counts inspections and `room` weight that is left.
        """
        import pandas as pd

        rows = [(item_id, self._items[item_id]) for item_id in self._inspected]
        content = {
            "class": [item.item_class for _, item in rows],
            "value": [item.value for _, item in rows],
            "weight": [item.weight for _, item in rows],
        }
        return {
            "seen": pd.DataFrame(content, index=pd.Index([item_id for item_id, _ in rows], dtype=str, name="item_id")),
            "taken": list(self._taken),
            "refused": list(self._refused),
            "budget": self._instance.inspection_budget - len(self._inspected),
            "room": self._instance.capacity - self._lost_capacity - self._load(),
        }

    def _find(self, item_id: str) -> Item:
        if not isinstance(item_id, str):
            raise ToolInvocationException(f"item_id must be a str, not {type(item_id).__name__}.")
        if item_id not in self._items:
            raise ToolRuntimeException(f"Unknown item_id: {item_id!r}.")
        return self._items[item_id]

    def _load(self) -> int:
        return sum(item.weight for item in self._taken.values())


def describe_tools() -> list[dict[str, str]]:
    """Return Table 4's rows: every tool's name, arguments, return type, summary."""
    described = []
    for name in TOOL_NAMES:
        function = getattr(KnapsackEnvironment, name)
        signature = inspect.signature(function)
        _, *parameters = signature.parameters.values()
        arguments = (f"{one.name}: {inspect.formatannotation(one.annotation)}" for one in parameters)
        returns = inspect.formatannotation(signature.return_annotation)
        summary = inspect.getdoc(function) or ""
        row = {"call": name, "arguments": ", ".join(arguments), "returns": returns}
        described.append(row | {"summary": summary.partition("\n")[0]})
    return described
