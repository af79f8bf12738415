"""Habits of the scripted teachers: fixed ones, or drawn per episode.

A habit changes how the policy is written down and how much of it a block does; which items are taken changes with the
order of exploration alone. The id of the instance seeds the draw, so both contracts draw the same habits on it.
"""

import random
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from carryover.tasks.services.frozen_model import FrozenModel
from carryover.tasks.traces.vocabulary import ContractName

Count = Annotated[int, Field(ge=1)] | Literal["all"]
"""Items per turn; `all` that budget and tool-call cap allow."""
INSPECTED_PER_TURN = 3
TAKEN_PER_TURN = 1
"""Items per turn of the fixed teacher of the small buckets, under every contract."""


class Habits(FrozenModel):
    """The habits of one episode; defaults: the small buckets' fixed teacher."""

    inspected_per_turn: Count = INSPECTED_PER_TURN
    taken_per_turn: Count = TAKEN_PER_TURN
    """On Easy and Hard, a refused item counts too."""
    form: Literal["by_contract", "functions", "inline"] = "by_contract"
    """Helper functions or inline code; `by_contract` defines functions where names are kept."""
    shown: Literal["by_contract", "table", "changes", "size"] = "by_contract"
    """What a block prints beside its state: the table, what the block changed, or the table's size; `by_contract`
    prints the table where names are lost and the size where they are kept, and on Easy and Hard the changes."""
    names: Literal["usual", "plain", "long"] = "usual"
    """Set of identifiers."""
    order: Literal["listed", "reversed", "scattered"] = "listed"
    """Order of exploration: the list's, its reverse, or by the last letters of the ids."""
    ending: Literal["last_take", "own_block"] = "last_take"
    """Whether `finish` stands in the block that takes the last item, or in a block of its own."""

    def uses_functions(self, contract: str) -> bool:
        """Tell whether a contract's blocks define and call functions."""
        if self.form == "by_contract":
            return contract == ContractName.PERSISTENT
        return self.form == "functions"


HabitLevels = dict[str, tuple[str | int, ...]]
"""Levels that each habit is drawn from; a habit that is not named is fixed."""
FIXED = Habits()
FIXED_ON_EASY = Habits(inspected_per_turn="all", taken_per_turn="all")
"""The fixed teacher of Easy and Hard."""
VARIED: HabitLevels = {
    "inspected_per_turn": (1, 2, 3, 5, "all"),
    "taken_per_turn": (1, 2, 3, 5, "all"),
    "form": ("functions", "inline"),
    "shown": ("table", "changes"),
    "names": ("usual", "plain", "long"),
    "order": ("listed", "reversed", "scattered"),
    "ending": ("last_take", "own_block"),
}
"""Levels of the varied teacher."""

LISTING = {
    "listed": "json.loads(list_items())",
    "reversed": "json.loads(list_items())[::-1]",
    "scattered": "sorted(json.loads(list_items()), key=lambda i: i[::-1])",
}
"""Expressions of the ids in each order."""


def draw_habits(levels: Mapping[str, tuple[str | int, ...]], instance_id: str, fixed: Habits = FIXED) -> Habits:
    """Return an instance's habits, one level of each.

    Raise `ValueError` for unknown habits or levels.

    A habit without levels is as in `fixed`.
    """
    unknown = levels.keys() - Habits.model_fields.keys()
    if unknown:
        raise ValueError(f"unknown habits {', '.join(sorted(unknown))}; choose from {', '.join(Habits.model_fields)}")
    draw = random.Random(f"habits {instance_id}")
    chosen: dict[str, str | int] = {}
    for name in Habits.model_fields:
        place = draw.random()  # drawn for fixed habits too, so that fixing one leaves the others
        of_name = levels.get(name, ())
        if of_name:
            chosen[name] = of_name[int(place * len(of_name))]
    return Habits.model_validate({**fixed.model_dump(), **chosen})


@dataclass(frozen=True)
class TeacherBlocks:
    """The blocks of one contract in one set of habits."""

    identifiers: ClassVar[Mapping[str, Mapping[str, str]]]
    """Replacements of the usual identifiers, by the habit `names`."""
    contract: str
    habits: Habits

    @property
    def _keeps_names(self) -> bool:
        return self.contract == ContractName.PERSISTENT

    @property
    def _uses_functions(self) -> bool:
        return self.habits.uses_functions(self.contract)

    def _named(self, code: str) -> str:
        return _rename(code, self.identifiers[self.habits.names])


def _rename(code: str, names: Mapping[str, str]) -> str:
    """Return code with whole identifiers replaced."""
    if not names:
        return code
    identifiers = re.compile(rf"\b(?:{'|'.join(names)})\b")
    return identifiers.sub(lambda match: names[match.group()], code)
