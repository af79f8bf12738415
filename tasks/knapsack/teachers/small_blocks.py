"""The blocks of the small teachers: one policy, written once for each contract.

Models of a million parameters do not copy literals, so the blocks hold none but step counts. The persistent blocks
reuse names; the stateless ones list and inspect again, which costs no budget. Both let the tools' errors tell what
fits: three new items a turn are inspected until the budget or the list ends, then one item a turn is taken by value
per weight.

Where taking a disallowed class costs capacity, a careful block carries `refused`, the classes refused so far: in a
binding under the persistent contract, and under the stateless one as a literal that each block copies from what the
last one printed. `None` stands for a block that is not careful.
"""

from textwrap import indent

INSPECTED_PER_TURN = 3
"""New items per inspecting turn, under both contracts."""
TAKEN_PER_TURN = 1
"""Items taken per taking turn, under both contracts."""

_BY_DENSITY = "sorted(items, key=lambda i: -items[i][1] / items[i][0])"
_SKIP = "    if items[i][2] in refused: continue\n"
_TAKE = """    try: take_item(i)
    except Exception: continue
    n -= 1
"""
_TAKE_CAREFULLY = """    try: take_item(i)
    except Exception as e:
        if 'class' in str(e): refused.append(items[i][2])
        continue
    n -= 1
"""

PERSISTENT_SETUP = """import json
ids = json.loads(list_items())
items = {}
def look(n):
    for i in ids:
        if i in items: continue
        if n == 0: return 'more'
        try: d = json.loads(inspect(i))
        except Exception: break
        items[i] = (d['weight'], d['value'], d['class'])
        n -= 1
    return 'full'
"""
PERSISTENT_LOOK = f"state = look({INSPECTED_PER_TURN})\nprint(state, len(items))"


def persistent_grab(refused: str | None = None) -> str:
    """Return the definition of taking; a careful one starts from a literal list of refused classes."""
    start, skip, take = _parts(refused)
    return f"""{start}def grab(n):
    for i in {_BY_DENSITY}:
{indent(skip, "    ")}        if n == 0: return 'more'
{indent(take, "    ")}    return 'done'
"""


def persistent_take(*, is_careful: bool = False) -> str:
    """Return the block that takes the next item by what earlier blocks have defined."""
    shown = "state, refused" if is_careful else "state"
    return f"state = grab({TAKEN_PER_TURN})\nprint({shown})\nif state == 'done': finish()"


def persistent_repair(refused: str | None = None) -> str:
    """Return the block that sets up everything again and takes the next item."""
    look = "look(len(ids))\n"
    grab = persistent_grab(refused)
    rebuilt = f"{grab}{look}" if refused is None else f"{look}{grab}"
    return f"{PERSISTENT_SETUP}{rebuilt}{persistent_take(is_careful=refused is not None)}"


def stateless_look(part: int, shown: str) -> str:
    """Return the block that inspects the first `part` portions of the list and prints `shown`."""
    return f"""import json
part = {part}
items = {{}}
state = 'full'
for i in json.loads(list_items()):
    if len(items) == {INSPECTED_PER_TURN} * part:
        state = 'more'
        break
    try: d = json.loads(inspect(i))
    except Exception: break
    items[i] = (d['weight'], d['value'], d['class'])
print(state, {shown})"""


def stateless_take(shown: str, refused: str | None = None) -> str:
    """Return the block that inspects everything again, takes the next item and prints `shown`."""
    start, skip, take = _parts(refused)
    return f"""import json
{start}items = {{}}
for i in json.loads(list_items()):
    try: d = json.loads(inspect(i))
    except Exception: break
    items[i] = (d['weight'], d['value'], d['class'])
n = {TAKEN_PER_TURN}
state = 'done'
for i in {_BY_DENSITY}:
{skip}    if n == 0:
        state = 'more'
        break
{take}print(state, {shown if refused is None else f"refused, {shown}"})
if state == 'done': finish()"""


def _parts(refused: str | None) -> tuple[str, str, str]:
    """Return the lines of a block that depend on care: before it, before an item is tried, and the trial."""
    if refused is None:
        return ("", "", _TAKE)
    return (f"refused = {refused}\n", _SKIP, _TAKE_CAREFULLY)
