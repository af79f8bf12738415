"""Scripted teachers of the contracts that inject the environment's knowledge, for every bucket.

The policy is that of the other teachers: inspect the list until the budget or the list ends, then take by value per
weight, without what was refused or does not fit. What the others carry in names, in printed tables or in literals,
these read from the live objects `seen`, `taken`, `refused`, `budget` and `room`.
"""

import random
from collections.abc import Sequence
from textwrap import indent

from carryover.tasks.agent.protocol import Message
from carryover.tasks.knapsack.teachers.density import read_task
from carryover.tasks.knapsack.teachers.habits import INSPECTED_PER_TURN, TAKEN_PER_TURN
from carryover.tasks.knapsack.teachers.small import SENTENCES, PlayedTurn, read_turns
from carryover.tasks.traces.vocabulary import ContractName

INJECTING = (ContractName.INJECTED, ContractName.INJECTED_PERSISTENT)
_LOOK = """\
new = [i for i in json.loads(list_items()) if i not in seen.index][:min(n, budget)]
for i in new: inspect(i)
state = 'more' if budget > len(new) == n else 'full'"""
_GRAB = """\
state, left = 'done', room
for i in (seen['value'] / seen['weight']).sort_values(ascending=False, kind='stable').index:
    if i in taken or seen['class'][i] in refused or seen['weight'][i] > left: continue
    if n == 0:
        state = 'more'
        break
    try: take_item(i)
    except Exception as e:
        if 'class' in str(e): refused.append(seen['class'][i])
        n -= {refusal}
        continue
    left -= seen['weight'][i]
    n -= 1"""
_FINISH = "print(state)\nif state == 'done': finish()"


def write_injected_reply(contract: str, messages: Sequence[Message], seed: int, *, is_capped: bool) -> str:
    """Return the next reply: a sentence and one block.

    `seed` chooses the sentence equally under all contracts. A block does as much as the cap of tool calls allows where
    `is_capped`, else as little as in the small buckets.
    """
    if contract not in INJECTING:
        raise ValueError(f"no such contract {contract!r}; choose from {', '.join(INJECTING)}")
    turns = read_turns(messages)
    is_taking = any(turn.output.startswith("full") for turn in turns)
    code = injected_block(
        contract,
        _count(messages, is_taking=is_taking, is_capped=is_capped),
        is_taking=is_taking,
        is_known=_is_defined(turns, "grab" if is_taking else "look"),
        refusal=int(is_capped),
    )
    sentence = random.Random(f"sentence {seed}").choice(SENTENCES[_action(turns, is_taking=is_taking)])
    return f"{sentence}\n```python\n{code}\n```"


def injected_block(contract: str, count: int, *, is_taking: bool, is_known: bool = False, refusal: int = 0) -> str:
    """Return the block that inspects or takes `count` items.

    A refused item counts as `refusal`. Where names are kept, its function is defined once.
    """
    name = "look"
    body = _LOOK
    imports = "import json\n"
    ending = "print(state)"
    if is_taking:
        name = "grab"
        body = _GRAB.format(refusal=refusal)
        imports = ""
        ending = _FINISH
    if contract == ContractName.INJECTED:
        return f"{imports}n = {count}\n{body}\n{ending}"
    definition = "" if is_known else f"{imports}def {name}(n):\n{indent(body, '    ')}\n    return state\n"
    return f"{definition}state = {name}({count})\n{ending}"


def _count(messages: Sequence[Message], *, is_taking: bool, is_capped: bool) -> int:
    """Return the items that the next block may inspect or take."""
    if is_capped:
        task = read_task(messages)
        # a call is kept for listing or finish
        if task.cap is None:
            return task.budget
        return task.cap - 1
    if is_taking:
        return TAKEN_PER_TURN
    return INSPECTED_PER_TURN


def _is_defined(turns: Sequence[PlayedTurn], function: str) -> bool:
    """Tell whether a function of an earlier block is still defined."""
    has_failed = bool(turns) and turns[-1].has_failed
    return not has_failed and any(f"def {function}(" in turn.code for turn in turns)


def _action(turns: Sequence[PlayedTurn], *, is_taking: bool) -> str:
    """Return the key of the sentence that explains the next block."""
    if turns and turns[-1].has_failed:
        return "repair"
    if not is_taking:
        if turns:
            return "look"
        return "list"
    has_begun = "take_item" in turns[-1].code or "grab" in turns[-1].code
    if has_begun:
        return "more"
    return "grab"
