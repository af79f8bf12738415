"""The size of the scripts' effect follows from how many items a block of theirs takes."""

import json
from importlib.resources import files
from itertools import product
from pathlib import Path
from statistics import mean

import pytest

from carryover.tasks.agent.protocol import Message
from carryover.tasks.knapsack.environment import KnapsackEnvironment
from carryover.tasks.knapsack.knapsack_spec import KNAPSACK
from carryover.tasks.knapsack.sampling import sample_instance
from carryover.tasks.knapsack.teachers.habits import VARIED, draw_habits
from carryover.tasks.knapsack.teachers.small import write_small_reply
from carryover.tasks.plans.seeds import EVALUATION_SEEDS
from tests.tasks.agent.playing import opening_messages
from tests.tasks.knapsack.teachers.playing import Namespace

PAGE = (Path(str(files("carryover.sql") / "results" / "side_by_side.md"))).read_text(encoding="utf-8")
FIRST_SEED = EVALUATION_SEEDS["small"]
INSTANCES = [sample_instance(KNAPSACK["small"], FIRST_SEED + number) for number in range(60)]
CONTRACTS = ("persistent", "stateless")


def play(script, runtime, habits, instance):
    """Return the characters that a script's episode sends and writes, and the names that it misses."""
    environment = KnapsackEnvironment(instance)
    namespace = Namespace(runtime, environment.tools)
    messages = list(opening_messages("compact", instance, runtime))
    characters = 0
    missed = 0
    while not environment.is_over:
        reply = write_small_reply(script, messages, seed=0, habits=habits)
        characters += sum(len(message.content) for message in messages) + len(reply)
        result = namespace.run(reply.partition("```python\n")[2].removesuffix("\n```"))
        observation = {"output": result.output.rstrip("\n")[:900]}
        if result.error is not None:
            observation["error"] = result.error.message
            missed += "NameError" in result.error.message
        told = observation | {"runtime": runtime, "active_globals": sorted(namespace.alive())}
        messages += [Message(role="assistant", content=reply), Message(role="user", content=json.dumps(told))]
    return characters, missed


def crossed(levels):
    """Return P->S, S->P and S->S over P->P, the ratio of ratios, and missing names per P->S episode."""
    cells = {}
    for script, runtime in product(CONTRACTS, CONTRACTS):
        played = [play(script, runtime, draw_habits(levels, one.instance_id), one) for one in INSTANCES]
        cells[script[0] + runtime[0]] = tuple(mean(column) for column in zip(*played, strict=True))
    cost = {cell: characters for cell, (characters, _) in cells.items()}
    ratios = [cost[cell] / cost["pp"] for cell in ("ps", "sp", "ss")]
    return [*ratios, (cost["pp"] / cost["ps"]) / (cost["sp"] / cost["ss"]), cells["ps"][1]]


@pytest.mark.parametrize(
    ("shown", "levels"),
    [
        ("1", {"taken_per_turn": (1,)}),
        ("3", {"taken_per_turn": (3,)}),
        ("all", {"taken_per_turn": ("all",)}),
        ("drawn habits", VARIED),
    ],
)
def test_the_page_prints_what_the_scripts_do_by_batch(shown, levels):
    *ratios, missed = crossed(levels)
    cells = " | ".join(f"{ratio:.2f}" for ratio in ratios)
    assert f"| {shown} | {cells} | {missed:.2f} |\n" in PAGE
