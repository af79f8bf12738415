"""The knapsack as a family: each part is the room's own."""

import asyncio
import json
from typing import Any

import pytest

from carryover.tasks.agent.protocol import CompletionRequest, Message
from carryover.tasks.knapsack.environment import KNOWN_NAMES, KnapsackEnvironment
from carryover.tasks.knapsack.family import KNAPSACK_FAMILY
from carryover.tasks.knapsack.goal import knapsack_prompts
from carryover.tasks.knapsack.instance import instance_rows
from carryover.tasks.knapsack.knapsack_spec import KNAPSACK
from carryover.tasks.knapsack.sampling import sample_instance
from carryover.tasks.knapsack.teachers.habits import FIXED
from carryover.tasks.knapsack.teachers.small import write_small_reply
from carryover.tasks.runtime.contract import as_contract

INSTANCE = sample_instance(KNAPSACK["small"], 3)


def test_a_family_samples_and_opens_its_instances():
    assert (KNAPSACK_FAMILY.name, KNAPSACK_FAMILY.known_names) == ("knapsack", KNOWN_NAMES)
    assert KNAPSACK_FAMILY.sample("small", 3) == INSTANCE
    world = KNAPSACK_FAMILY.open(INSTANCE)
    assert isinstance(world, KnapsackEnvironment)
    assert json.loads(world.list_items()) == [item.item_id for item in INSTANCE.items]
    assert KNAPSACK_FAMILY.usual_tool_call_cap(sample_instance(KNAPSACK["small_large"], 0)) == 35


def test_a_goal_tells_the_limits_and_every_class():
    classes = ", ".join(sorted({item.item_class for item in INSTANCE.items}))
    limits = {"capacity": INSTANCE.capacity, "budget": INSTANCE.inspection_budget, "classes": classes}
    assert KNAPSACK_FAMILY.goal_values(INSTANCE) == limits
    for prompt_set in ("compact", "full"):
        assert KNAPSACK_FAMILY.prompts(prompt_set) == knapsack_prompts(prompt_set)
    assert "$capacity" in KNAPSACK_FAMILY.prompts("full")["goal"]


def test_an_instance_comes_back_from_its_rows():
    row, items = KNAPSACK_FAMILY.rows(INSTANCE, "run", "train")
    assert (row, items) == instance_rows(INSTANCE, "run", "train")
    columns = ("item_id", "weight", "value", "item_class")
    listed = [{name: getattr(item, name) for name in columns} for item in reversed(items)]
    assert KNAPSACK_FAMILY.instance_of_row({**row.model_dump(), "items": listed}) == INSTANCE


def reply_after_three_blocks(teacher):
    """Return what a teacher of the small buckets writes after three blocks that found more each."""
    messages = [Message(role="system", content="Play."), Message(role="user", content="Go.")]
    for _ in range(3):
        messages.append(Message(role="assistant", content="I look.\n```python\nstate = look(3)\n```"))
        messages.append(Message(role="user", content=json.dumps({"output": "more 3"})))
    request = CompletionRequest(tuple(messages), seed=3, episode_id="e")
    expected = {
        kept: write_small_reply("persistent", messages, 3, habits=FIXED, kept_blocks=kept) for kept in (None, 1, 2)
    }
    assert expected[1] == expected[None] != expected[2]
    return asyncio.run(teacher.complete(request)).text, expected


@pytest.mark.parametrize("options", [{}, {"prints_table": False}, {"habits": {"names": ("usual",)}}])
def test_a_teacher_counts_on_names_as_long_as_the_contract_keeps_them(options):
    for contract, kept_blocks in (("persistent", None), ("recent-1", 1), ("recent-2", 2)):
        for named in (contract, as_contract(contract)):
            teacher: Any = KNAPSACK_FAMILY.open_teacher("small", named, **options)
            if "habits" in options:
                teacher = teacher.open_for(INSTANCE.instance_id)
            text, expected = reply_after_three_blocks(teacher)
            assert text == expected[kept_blocks]


def test_a_teacher_counts_tokens_as_told():
    family: Any = KNAPSACK_FAMILY
    request = CompletionRequest((Message(role="user", content="Go."),) * 3, seed=3, episode_id="e")
    fixed = [family.open_teacher("small", "stateless", len, prints_table=prints) for prints in (True, False)]
    varied = family.open_teacher("small", "stateless", len, habits={}).open_for("a")
    for teacher in (*fixed, varied):
        assert asyncio.run(teacher.complete(request)).prompt_tokens == 3
