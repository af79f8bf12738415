"""Scripted teachers of the small buckets, functions of the conversation alone.

A reply that met an error is followed by a repair under both contracts: re-establish what is needed, then go on taking.
Equal faults therefore cost both arms the same turns.
"""

import itertools
import json
import random
import re
from collections.abc import Sequence
from typing import NamedTuple

from carryover.tasks.agent.protocol import Message
from carryover.tasks.knapsack.teachers import small_blocks as blocks
from carryover.tasks.traces.vocabulary import PAPER_CONTRACTS, ContractName

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
_REFUSED = re.compile(r"^(?:more|done) (\[[^\]]*\])")


class PlayedTurn(NamedTuple):
    """An earlier reply of the teacher, as the conversation tells it."""

    code: str
    output: str
    has_failed: bool


def write_small_reply(
    contract: str, messages: Sequence[Message], seed: int, *, prints_table: bool = True, is_careful: bool = False
) -> str:
    """Return the next reply: a sentence and one block.

    `seed` chooses the sentence equally under both contracts. With `prints_table` a stateless block prints the table
    that it rebuilds, as an agent must that works from what it reads; else its size. With `is_careful` no class is tried
    that was refused before, as where mistakes cost score.
    """
    turns = read_turns(messages)
    printed = (_REFUSED.match(turn.output) for turn in reversed(turns))
    refused = None
    if is_careful:
        refused = next((match.group(1) for match in printed if match), "[]")
    if contract == ContractName.PERSISTENT:
        action, code = _persistent_block(turns, refused)
    elif contract == ContractName.STATELESS:
        action, code = _stateless_block(turns, refused, "items" if prints_table else "len(items)")
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
        block = _BLOCK.search(reply.content)
        content = json.loads(answer.content)
        observation = content.get("observation", content)
        code = ""
        if block:
            code = block.group(1)
        output = observation.get("output") or ""
        turns.append(PlayedTurn(code, output, has_failed=bool(observation.get("error"))))
    return turns


def _persistent_block(turns: list[PlayedTurn], refused: str | None) -> tuple[str, str]:
    if not turns:
        return "list", blocks.PERSISTENT_SETUP + blocks.PERSISTENT_LOOK
    last = turns[-1]
    take = blocks.persistent_take(is_careful=refused is not None)
    if last.has_failed:
        return "repair", blocks.persistent_repair(refused)
    if "grab" in last.code:
        return "more", take
    if last.output.startswith("more"):
        return "look", blocks.PERSISTENT_LOOK
    return "grab", blocks.persistent_grab(refused) + take


def _stateless_block(turns: list[PlayedTurn], refused: str | None, shown: str) -> tuple[str, str]:
    if not turns:
        return "list", blocks.stateless_look(1, shown)
    last = turns[-1]
    part = _PART.search(last.code)
    if part is not None and not last.has_failed and last.output.startswith("more"):
        return "look", blocks.stateless_look(int(part.group(1)) + 1, shown)
    action = "repair" if last.has_failed else "more" if "take_item" in last.code else "grab"
    return action, blocks.stateless_take(shown, refused)
