"""The blocks of the small teachers: one policy, written once for each contract.

Models of a million parameters do not copy literals, so the blocks hold none but step counts. The persistent blocks
reuse names; the stateless ones list and inspect again, which costs no budget. Both let the tools' errors tell what
fits: three new items a turn are inspected until the budget or the list ends, then one item a turn is taken by value
per weight.
"""

INSPECTED_PER_TURN = 3
"""New items per inspecting turn, under both contracts."""
TAKEN_PER_TURN = 1
"""Items taken per taking turn, under both contracts."""

_BY_DENSITY = "sorted(items, key=lambda i: -items[i][1] / items[i][0])"

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
PERSISTENT_GRAB = f"""def grab(n):
    for i in {_BY_DENSITY}:
        if n == 0: return 'more'
        try: take_item(i)
        except Exception: continue
        n -= 1
    return 'done'
"""
PERSISTENT_TAKE = f"state = grab({TAKEN_PER_TURN})\nprint(state)\nif state == 'done': finish()"
PERSISTENT_REPAIR = f"{PERSISTENT_SETUP}{PERSISTENT_GRAB}look(len(ids))\n{PERSISTENT_TAKE}"


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


def stateless_take(shown: str) -> str:
    """Return the block that inspects everything again, takes the next item and prints `shown`."""
    return f"""import json
items = {{}}
for i in json.loads(list_items()):
    try: d = json.loads(inspect(i))
    except Exception: break
    items[i] = (d['weight'], d['value'], d['class'])
n = {TAKEN_PER_TURN}
state = 'done'
for i in {_BY_DENSITY}:
    if n == 0:
        state = 'more'
        break
    try: take_item(i)
    except Exception: continue
    n -= 1
print(state, {shown})
if state == 'done': finish()"""
