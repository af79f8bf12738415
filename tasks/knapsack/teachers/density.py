"""The scripted teacher of Easy and Hard: inspect, then pack by density.

What it writes next is a function of the conversation alone: it reads the task, its earlier replies and what came of
them, as a model would. The per-turn cap, which the tool documentation tells, decides how much a block does. Under the
persistent contract later blocks use the names of earlier ones; under the stateless one each block writes down what it
needs from what was printed.
"""

import itertools
import json
import random
import re
from collections.abc import Sequence
from typing import NamedTuple

from carryover.tasks.agent.protocol import Message
from carryover.tasks.knapsack.teachers.density_blocks import DONE, DensityBlocks, Known
from carryover.tasks.knapsack.teachers.habits import FIXED_ON_EASY, Count, Habits
from carryover.tasks.knapsack.teachers.small import END_SENTENCES, PlayedTurn, read_turns
from carryover.tasks.knapsack.teachers.small_blocks import FINISH
from carryover.tasks.traces.vocabulary import PAPER_CONTRACTS, ContractName

SENTENCES: dict[str, tuple[str, ...]] = {
    "start": (
        "I know capacity and budget, but no item yet. I list the ids and inspect as many as one block may.",
        "Nothing is known about the items, so I start by listing the ids and inspecting a first batch.",
    ),
    "inspect": (
        "{inspected} items are inspected, the budget is {budget}. I go on with the next batch before I take anything.",
        "So far I know {inspected} items and may inspect {budget}. I inspect more of the list.",
    ),
    "take": (
        "{inspected} items are inspected. I take them by value per unit of weight and note which classes are refused.",
        "I have looked at {inspected} items. Now I fill the knapsack, densest first, and skip refused classes.",
    ),
    "go_on": (
        "The load is {load} of {capacity} so far. I go on taking where the last block stopped.",
        "{taken} items are in the knapsack, weight {load} of {capacity}. I continue down the list.",
    ),
    "repair": (
        "The last block failed, so I set up again what I need and go on from what I know.",
        "That did not work. I rebuild the state from what was printed and continue.",
    ),
}
"""Reflections by what the block does; the same under both contracts."""

_LIMITS = re.compile(r"may not be larger than (\d+).*?at most (\d+) different items", re.DOTALL)
_CAP = re.compile(r"at most (\d+) tool calls")


class Task(NamedTuple):
    """Facts of the opening messages."""

    capacity: int
    budget: int
    cap: int | None
    """Tool calls per block."""


def write_density_reply(
    contract: str, messages: Sequence[Message], seed: int, *, habits: Habits = FIXED_ON_EASY
) -> str:
    """Return the next reply: a reflection and one block.

    `seed` chooses the reflection equally under both contracts. A block inspects and takes fewer items than the habits
    say where the cap allows no more.
    """
    if contract not in PAPER_CONTRACTS:
        raise ValueError(f"no density teacher plays contract {contract!r}; choose from {', '.join(PAPER_CONTRACTS)}")
    task = read_task(messages)
    turns = read_turns(messages)
    known = read_known(task, turns)
    action, code = _next_block(DensityBlocks(contract, habits), task, turns, known)
    sentences = SENTENCES.get(action, END_SENTENCES)
    sentence = random.Random(f"sentence {seed}").choice(sentences)
    counts = {"inspected": len(known.table), "taken": len(known.taken)}
    reflection = sentence.format(**known._asdict() | counts)
    return f"{reflection}\n```python\n{code}\n```"


def read_task(messages: Sequence[Message]) -> Task:
    """Return the opening messages' numbers; raise `ValueError` without them."""
    opening = "\n".join(
        message.content for message in itertools.takewhile(lambda message: message.role != "assistant", messages)
    )
    limits = _LIMITS.search(opening)
    cap = _CAP.search(opening)
    if limits is None:
        raise ValueError("the conversation does not open with the task in the full prompt set; play it with 'full'")
    return Task(int(limits.group(1)), int(limits.group(2)), None if cap is None else int(cap.group(1)))


def read_known(task: Task, turns: Sequence[PlayedTurn]) -> Known:
    """Return what the printed lines of earlier turns tell."""
    table: dict[str, list[int | str]] = {}
    progress = {"taken": [], "refused": [], "load": 0}
    for turn in turns:
        for line in turn.output.splitlines():
            content = json.loads(line)
            table |= content.pop("new", {})
            progress |= {key: value for key, value in content.items() if key in progress}
    return Known(task.capacity, task.budget, table, **progress)


def _next_block(blocks: DensityBlocks, task: Task, turns: Sequence[PlayedTurn], known: Known) -> tuple[str, str]:
    """Return what the next block does, and the block."""
    is_done = bool(turns) and not turns[-1].has_failed and DONE in turns[-1].output
    if is_done:
        return "end", FINISH
    if len(known.table) < known.budget:
        return _inspecting_block(blocks, task, turns, known)
    return _taking_block(blocks, task, turns, known)


def _inspecting_block(blocks: DensityBlocks, task: Task, turns: Sequence[PlayedTurn], known: Known) -> tuple[str, str]:
    has_failed = bool(turns) and turns[-1].has_failed
    defines = not turns or has_failed
    lists_items = defines or blocks.contract == ContractName.STATELESS
    allowed = known.budget if task.cap is None else task.cap - lists_items  # listing the ids is a call too
    count = _at_most(allowed, blocks.habits.inspected_per_turn)
    action = "inspect" if turns else "start"
    if has_failed:
        action = "repair"
    return action, blocks.inspect(known, count, defines=defines)


def _taking_block(blocks: DensityBlocks, task: Task, turns: Sequence[PlayedTurn], known: Known) -> tuple[str, str]:
    has_failed = bool(turns) and turns[-1].has_failed
    is_first = not any("take_item" in turn.code for turn in turns)
    allowed = known.budget if task.cap is None else task.cap - 1  # one call is kept for finish
    count = _at_most(allowed, blocks.habits.taken_per_turn)
    action = "take" if is_first else "go_on"
    if has_failed:
        action = "repair"
    return action, blocks.take(known, count, defines=is_first or has_failed, restores=has_failed)


def _at_most(allowed: int, count: Count) -> int:
    """Return the items of a block."""
    if count == "all":
        return allowed
    return min(allowed, count)
