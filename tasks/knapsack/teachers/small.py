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
from carryover.tasks.knapsack.teachers.habits import FIXED, Habits
from carryover.tasks.knapsack.teachers.small_blocks import FINISH, SmallBlocks
from carryover.tasks.traces.vocabulary import PAPER_CONTRACTS

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

END_SENTENCES = ("Nothing more fits, so I finish.", "All is taken.", "I am done.")
"""Reflections of a block that only finishes."""

_BLOCK = re.compile(r"```python\n(.*?)\n```", re.DOTALL)
_REFUSED = re.compile(r"^(?:more|done) (\[[^\]]*\])")


class PlayedTurn(NamedTuple):
    """An earlier reply of the teacher, as the conversation tells it."""

    code: str
    output: str
    has_failed: bool


def write_small_reply(
    contract: str,
    messages: Sequence[Message],
    seed: int,
    *,
    habits: Habits = FIXED,
    is_careful: bool = False,
    kept_blocks: int | None = None,
) -> str:
    """Return the next reply: a sentence and one block.

    `seed` chooses the sentence equally under both contracts. With `is_careful` no class is tried that was refused
    before, as where mistakes cost score. With `kept_blocks` the persistent blocks set up everything again when names
    have ended.
    """
    if contract not in PAPER_CONTRACTS:
        raise ValueError(f"no small teacher plays contract {contract!r}; choose from {', '.join(PAPER_CONTRACTS)}")
    turns = read_turns(messages)
    refused = None
    if is_careful:
        refused = _read_refused(turns)
    is_anew = kept_blocks is not None and starts_anew(turns, kept_blocks)
    action, code = _next_block(SmallBlocks(contract, habits), turns, refused, is_anew=is_anew)
    sentences = SENTENCES.get(action, END_SENTENCES)
    sentence = random.Random(f"sentence {seed}").choice(sentences)
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


def starts_anew(turns: Sequence[PlayedTurn], kept_blocks: int | None = None) -> bool:
    """Tell whether the next block must set up everything.

    The first one must, one after a failure, and one whose names have ended.

    `kept_blocks` are those that a name outlives, beside the one that bound it; None stands for all.
    """
    has_failed = True
    age = 0
    for turn in turns:
        is_anew = has_failed or age == kept_blocks
        age = 0 if is_anew else age + 1
        has_failed = turn.has_failed
    return has_failed or age == kept_blocks


def _read_refused(turns: list[PlayedTurn]) -> str:
    """Return the refused classes as the last block that told them printed them."""
    printed = (_REFUSED.match(turn.output) for turn in reversed(turns))
    return next((match.group(1) for match in printed if match), "[]")


def _next_block(blocks: SmallBlocks, turns: list[PlayedTurn], refused: str | None, *, is_anew: bool) -> tuple[str, str]:
    """Return what the next block does, and the block.

    `is_anew` where no name of an earlier one is left.
    """
    if not turns:
        return "list", blocks.look(1)
    last = turns[-1]
    if last.has_failed:
        return "repair", blocks.repair(refused)
    if last.output.startswith("done"):
        return "end", FINISH
    is_looking = last.output.startswith("more") and not blocks.is_taking(last.code)
    if is_looking:
        part = len(turns) + 1  # a failure is followed by taking, so all turns so far inspected
        return "look", blocks.relook(part) if is_anew else blocks.look(part)
    action = "more" if blocks.is_taking(last.code) else "grab"
    if is_anew:
        return action, blocks.repair(refused)
    return action, blocks.take(refused, is_first=action == "grab")
