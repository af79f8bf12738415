"""Scripted teachers of the small buckets: what they write next is a function of the conversation alone.

A reply that met an error is followed by a repair under both contracts: re-establish what is needed, then go on taking.
Equal faults therefore cost both arms the same turns.
"""

import itertools
import json
import random
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from carryover.tasks.agent.protocol import Message
from carryover.tasks.agent.teachers import small_blocks as blocks
from carryover.tasks.running.contract_name import PAPER_CONTRACTS, ContractName

SENTENCES: dict[str, tuple[str, ...]] = {
    "list": (
        "I list the items and look at the first ones.",
        "I start with the item ids.",
        "First I list and inspect.",
    ),
    "look": ("I inspect the next items.", "I look at more items.", "I continue inspecting."),
    "grab": ("I take items by density.", "I fill the knapsack greedily.", "I take the best items."),
    "more": ("I keep taking items.", "I take the next items.", "I continue filling."),
    "repair": ("That failed, so I set up everything again.", "Something is gone. I rebuild all of it."),
}
"""Reflections by what the block does; the same under both contracts."""

_BLOCK = re.compile(r"```python\n(.*?)\n```", re.DOTALL)
_PART = re.compile(r"^part = (\d+)$", re.MULTILINE)


class PlayedTurn(NamedTuple):
    """An earlier reply of the teacher, as the conversation tells it."""

    code: str
    output: str
    has_failed: bool


def write_small_reply(contract: str, messages: Sequence[Message], seed: int, *, prints_table: bool = True) -> str:
    """Return the next reply: one sentence and one block.

    `seed` chooses the sentence, equally under both contracts. With `prints_table` the stateless blocks print the table
    that they rebuild, as an agent must that works from what it reads; without it they print its size.
    """
    turns = read_turns(messages)
    if contract == ContractName.PERSISTENT:
        action, code = _persistent_block(turns)
    elif contract == ContractName.STATELESS:
        action, code = _stateless_block(turns, "items" if prints_table else "len(items)")
    else:
        raise ValueError(f"no small teacher plays contract {contract!r}; choose from {', '.join(PAPER_CONTRACTS)}")
    sentence = random.Random(f"sentence {seed}").choice(SENTENCES[action])
    return f"{sentence}\n```python\n{code}\n```"


def read_turns(messages: Sequence[Message]) -> list[PlayedTurn]:
    """Return the teacher's earlier turns, each with the observation that answered it."""
    turns: list[PlayedTurn] = []
    for reply, answer in itertools.pairwise(messages):
        if reply.role != "assistant" or answer.role != "user":
            continue
        turns.append(_read_turn(reply.content, answer.content))
    return turns


@lru_cache(maxsize=256)
def _read_turn(reply: str, answer: str) -> PlayedTurn:
    """Return one turn; each is looked back at in every later one."""
    block = _BLOCK.search(reply)
    content = json.loads(answer)
    observation = content.get("observation", content)
    return PlayedTurn(
        code=block.group(1) if block else "",
        output=observation.get("output") or "",
        has_failed=bool(observation.get("error")),
    )


def next_part(turns: Sequence[PlayedTurn]) -> int | None:
    """Return how many portions of the list a stateless block is to inspect next; none when it is time to take."""
    if not turns:
        return 1
    part = _PART.search(turns[-1].code)
    if part is None or turns[-1].has_failed or not turns[-1].output.startswith("more"):
        return None
    return int(part.group(1)) + 1


def taking_action(last: PlayedTurn) -> str:
    """Return what a stateless block that takes items is doing: repairing, going on, or starting."""
    if last.has_failed:
        return "repair"
    return "more" if "take_item" in last.code else "grab"


def _persistent_block(turns: list[PlayedTurn]) -> tuple[str, str]:
    if not turns:
        return "list", blocks.PERSISTENT_SETUP + blocks.PERSISTENT_LOOK
    last = turns[-1]
    if last.has_failed:
        return "repair", blocks.PERSISTENT_REPAIR
    if "grab" in last.code:
        return "more", blocks.PERSISTENT_TAKE
    if last.output.startswith("more"):
        return "look", blocks.PERSISTENT_LOOK
    return "grab", blocks.PERSISTENT_GRAB + blocks.PERSISTENT_TAKE


def _stateless_block(turns: list[PlayedTurn], shown: str) -> tuple[str, str]:
    part = next_part(turns)
    if part is not None:
        return "look" if turns else "list", blocks.stateless_look(part, shown)
    return taking_action(turns[-1]), blocks.stateless_take(shown)
