"""The blocks of the careful teachers, for buckets in which taking a disallowed class costs capacity.

The classes refused so far are what must be carried from turn to turn: in a binding under the persistent contract, and
under the stateless one as a literal that each block copies from what the last one printed. Inspecting is as in the
small teachers.
"""

from carryover.tasks.agent.teachers import small_blocks

PERSISTENT_GRAB = """def grab(n):
    for i in sorted(items, key=lambda i: -items[i][1] / items[i][0]):
        if items[i][2] in refused: continue
        if n == 0: return 'more'
        try: take_item(i)
        except Exception as e:
            if 'class' in str(e): refused.append(items[i][2])
            continue
        n -= 1
    return 'done'
"""
PERSISTENT_TAKE = f"""state = grab({small_blocks.TAKEN_PER_TURN})
print(state, refused)
if state == 'done': finish()"""


def persistent_grab(refused: str) -> str:
    """Return the block that defines taking, starts from a literal list of refused classes, and takes."""
    return f"refused = {refused}\n{PERSISTENT_GRAB}{PERSISTENT_TAKE}"


def persistent_repair(refused: str) -> str:
    """Return the block that sets up everything again, with the refused classes as they were last printed."""
    return f"{small_blocks.PERSISTENT_SETUP}look(len(ids))\n{persistent_grab(refused)}"


def stateless_take(shown: str, refused: str) -> str:
    """Return the block that inspects everything again, takes the next item, and prints refused classes and `shown`."""
    return f"""import json
refused = {refused}
items = {{}}
for i in json.loads(list_items()):
    try: d = json.loads(inspect(i))
    except Exception: break
    items[i] = (d['weight'], d['value'], d['class'])
n = {small_blocks.TAKEN_PER_TURN}
state = 'done'
for i in sorted(items, key=lambda i: -items[i][1] / items[i][0]):
    if items[i][2] in refused: continue
    if n == 0:
        state = 'more'
        break
    try: take_item(i)
    except Exception as e:
        if 'class' in str(e): refused.append(items[i][2])
        continue
    n -= 1
print(state, refused, {shown})
if state == 'done': finish()"""
