"""The blocks that the density teacher writes."""

import json
from textwrap import indent
from typing import NamedTuple

IMPORT = "import json\n"

# Persistent: functions and state live in the interpreter, and later blocks only call them.
INSPECT_FUNCTION = """\
ids = json.loads(list_items())

def inspect_more(count):
    new = {}
    for item_id in ids:
        if len(new) == count or len(table) == budget:
            break
        if item_id not in table:
            facts = json.loads(inspect(item_id))
            new[item_id] = table[item_id] = [facts["weight"], facts["value"], facts["class"]]
    print(json.dumps({"new": new, "inspected": len(table)}))
"""
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
TAKE_FUNCTION = f"""\
def density(item_id):
    weight, value, item_class = table[item_id]
    return value / weight

def take_more(count):
    global load
    is_done = True
    for item_id in sorted(table, key=density, reverse=True):
{indent(_TAKE_EACH.format(capacity="capacity", left="count"), "    ")}    return is_done
"""

# Stateless: the same work in the open, on values written down from earlier output.
INSPECT_LOOP = """\
new = {{}}
for item_id in json.loads(list_items())[{start}:{stop}]:
    facts = json.loads(inspect(item_id))
    new[item_id] = [facts["weight"], facts["value"], facts["class"]]
print(json.dumps({{"new": new, "inspected": {start} + len(new)}}))"""
TAKE_LOOP = f"""\
calls_left = {{count}}
is_done = True
for item_id in sorted(table, key=lambda item_id: table[item_id][1] / table[item_id][0], reverse=True):
{_TAKE_EACH.replace("{left}", "calls_left")}if is_done:
    finish()"""


class Known(NamedTuple):
    """What the conversation has told so far."""

    capacity: int
    budget: int
    table: dict[str, list[int | str]]
    """Weight, value and class of each inspected item, in order of inspection."""
    taken: list[str]
    refused: list[str]
    """Classes that were refused."""
    load: int
    """Weight taken so far."""


def persistent_inspect(known: Known, count: int, *, defines: bool) -> str:
    """Return a block that inspects `count` further items, with everything it needs where `defines`."""
    call = f"inspect_more({count})"
    if not defines:
        return call
    return f"{_restored(known)}{INSPECT_FUNCTION}\n{call}"


def persistent_take(known: Known, count: int, *, defines: bool, restores: bool) -> str:
    """Return a block that takes with at most `count` calls.

    Where `defines`, it defines the function and what it counts; where `restores`, also what earlier blocks had defined.
    """
    call = f"if take_more({count}):\n    finish()"
    if not defines:
        return call
    progress = f"taken, refused, load = {json.dumps(known.taken)}, {json.dumps(known.refused)}, {known.load}\n"
    earlier = ""
    if restores:
        earlier = f"{_restored(known)}"
    return f"{earlier}{progress}\n{TAKE_FUNCTION}\n{call}"


def stateless_inspect(known: Known, count: int) -> str:
    """Return a self-contained block that inspects the next `count` items of the list."""
    start = len(known.table)
    return f"{IMPORT}\n{INSPECT_LOOP.format(start=start, stop=min(start + count, known.budget))}"


def stateless_take(known: Known, count: int) -> str:
    """Return a self-contained block that takes with at most `count` calls."""
    state = (
        f"table = {json.dumps(known.table)}\n"
        f"taken = {json.dumps(known.taken)}\nrefused = {json.dumps(known.refused)}\nload = {known.load}\n"
    )
    return f"{IMPORT}\n{state}{TAKE_LOOP.format(count=count, capacity=known.capacity)}"


def _restored(known: Known) -> str:
    limits = f"capacity, budget = {known.capacity}, {known.budget}"
    return f"{IMPORT}\n{limits}\ntable = {json.dumps(known.table)}\n"
