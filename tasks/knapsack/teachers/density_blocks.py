"""The blocks that the density teacher writes, under one contract and by its habits.

Where names are kept, later blocks use those of earlier ones; elsewhere each block writes down what it needs from what
was printed. As functions, a self-contained block is the one that repairs a persistent state.
"""

import json
from dataclasses import dataclass
from textwrap import indent
from typing import NamedTuple

from carryover.tasks.knapsack.teachers.habits import FIXED_ON_EASY, LISTING, Habits, TeacherBlocks
from carryover.tasks.knapsack.teachers.small_blocks import FINISH

NAMES: dict[str, dict[str, str]] = {
    "usual": {},
    "plain": {
        "ids": "names",
        "table": "known",
        "item_id": "name",
        "facts": "row",
        "count": "n",
        "calls_left": "n",
        "inspect_more": "look",
        "take_more": "grab",
        "density": "rate",
    },
    "long": {
        "ids": "all_item_ids",
        "table": "inspected_items",
        "item_id": "candidate_id",
        "facts": "item_facts",
        "count": "call_limit",
        "calls_left": "remaining_calls",
        "inspect_more": "inspect_next_items",
        "take_more": "take_next_items",
        "density": "value_per_weight",
    },
}
"""Identifiers of each set, by those of the templates."""
IMPORT = "import json\n"
DONE = json.dumps({"is_done": True})
"""What a block prints after the last item where `finish` stands in a block of its own."""

_INSPECT_EACH = """\
new = {{}}
for item_id in ids:
    if len(new) == {count} or len(table) == budget:
        break
    if item_id not in table:
        facts = json.loads(inspect(item_id))
        new[item_id] = table[item_id] = [facts["weight"], facts["value"], facts["class"]]
print(json.dumps({{"new": {new}, "inspected": len(table)}}))
"""
_INSPECT_SLICE = """\
new = {{}}
for item_id in {listing}[{start}:{stop}]:
    facts = json.loads(inspect(item_id))
    new[item_id] = [facts["weight"], facts["value"], facts["class"]]
print(json.dumps({{"new": {new}, "inspected": {start} + len(new)}}))"""
_TAKE_EACH = """\
    weight, value, item_class = table[item_id]
    if item_id in taken or item_class in refused or load + weight > {capacity}:
        continue
    if {left} == 0:
        is_done = False
        break
    {left} -= 1
    try:
        take_item(item_id)
    except Exception as error:
        if "disallowed class" in str(error):
            refused.append(item_class)
            continue
        if "already taken" not in str(error):
            raise
    taken.append(item_id)
    load += weight
print(json.dumps({{"taken": taken, "refused": refused, "load": load}}))
"""
_TAKE_FUNCTION = f"""\
def density(item_id):
    weight, value, item_class = table[item_id]
    return value / weight

def take_more(count):
    global load
    is_done = True
    for item_id in sorted(table, key=density, reverse=True):
{indent(_TAKE_EACH.format(capacity="capacity", left="count"), "    ")}    return is_done
"""
_TAKE_LOOP = f"""\
calls_left = {{count}}
is_done = True
for item_id in sorted(table, key=lambda item_id: table[item_id][1] / table[item_id][0], reverse=True):
{_TAKE_EACH.replace("{left}", "calls_left")}"""


class Known(NamedTuple):
    """Facts of the conversation so far."""

    capacity: int
    budget: int
    table: dict[str, list[int | str]]
    """Weight, value and class of each inspected item, in order of inspection."""
    taken: list[str]
    refused: list[str]
    """Classes that were refused."""
    load: int
    """Weight taken so far."""


@dataclass(frozen=True)
class DensityBlocks(TeacherBlocks):
    """Blocks of one contract in one set of habits."""

    identifiers = NAMES
    habits: Habits = FIXED_ON_EASY

    def inspect(self, known: Known, count: int, *, defines: bool) -> str:
        """Return a block that inspects `count` further items, with everything it needs where `defines`."""
        if self._keeps_names or self._uses_functions:
            is_whole = defines or not self._keeps_names
            return self._named(self._inspect_by_names(known, count, defines=is_whole))
        start = len(known.table)
        stop = min(start + count, known.budget)
        new = "new"
        carried = ""
        if self._shows_table:
            new = "table | new"
            carried = f"table = {json.dumps(known.table)}\n"
        loop = _INSPECT_SLICE.format(listing=LISTING[self.habits.order], start=start, stop=stop, new=new)
        return self._named(f"{IMPORT}\n{carried}{loop}")

    def take(self, known: Known, count: int, *, defines: bool, restores: bool) -> str:
        """Return a block that takes with at most `count` calls.

        Where `defines`, it binds what it counts, and the function; where `restores`, also what earlier blocks had.
        """
        if self._keeps_names or self._uses_functions:
            is_whole = not self._keeps_names
            return self._named(
                self._take_by_names(known, count, defines=defines or is_whole, restores=restores or is_whole)
            )
        state = (
            f"table = {json.dumps(known.table)}\n"
            f"taken = {json.dumps(known.taken)}\nrefused = {json.dumps(known.refused)}\nload = {known.load}\n"
        )
        loop = _TAKE_LOOP.format(count=count, capacity=known.capacity)
        return self._named(f"{IMPORT}\n{state}{loop}{self._end('is_done')}")

    @property
    def _shows_table(self) -> bool:
        return self.habits.shown == "table"

    def _inspect_by_names(self, known: Known, count: int, *, defines: bool) -> str:
        """Return the block that reads ids, table and budget from names."""
        setup = ""
        if defines:
            setup = f"{_restored(known)}ids = {LISTING[self.habits.order]}\n"
        new = "new"
        if self._shows_table:
            new = "table"
        if not self._uses_functions:
            return f"{setup}{_INSPECT_EACH.format(count=count, new=new)}".rstrip("\n")
        call = f"inspect_more({count})"
        if not defines:
            return call
        body = indent(_INSPECT_EACH.format(count="count", new=new), "    ")
        return f"{setup}\ndef inspect_more(count):\n{body}\n{call}"

    def _take_by_names(self, known: Known, count: int, *, defines: bool, restores: bool) -> str:
        """Return the block that reads table, capacity and progress from names."""
        earlier = ""
        if restores:
            earlier = _restored(known)
        progress = ""
        if defines:
            counted = f"{json.dumps(known.taken)}, {json.dumps(known.refused)}, {known.load}"
            progress = f"{earlier}taken, refused, load = {counted}\n"
        if not self._uses_functions:
            loop = _TAKE_LOOP.format(count=count, capacity="capacity")
            return f"{progress}{loop}{self._end('is_done')}"
        call = self._end(f"take_more({count})")
        if not defines:
            return call
        return f"{progress}\n{_TAKE_FUNCTION}\n{call}"

    def _end(self, is_done: str) -> str:
        """Return the last lines of a taking block."""
        if self.habits.ending == "own_block":
            return f'print(json.dumps({{"is_done": {is_done}}}))'
        return f"if {is_done}:\n    {FINISH}"


def _restored(known: Known) -> str:
    limits = f"capacity, budget = {known.capacity}, {known.budget}"
    return f"{IMPORT}\n{limits}\ntable = {json.dumps(known.table)}\n"
