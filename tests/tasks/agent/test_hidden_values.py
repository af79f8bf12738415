"""An agent that looks everywhere it can must not find what an instance hides."""

import asyncio
import re
from itertools import pairwise

import pytest

from carryover.tasks.agent.condition import Condition
from carryover.tasks.agent.episode import PlannedEpisode, run_episode
from carryover.tasks.agent.episode_spec import EpisodeSpec
from carryover.tasks.agent.protocol import Completion
from carryover.tasks.knapsack.instance import Instance, Item, Packing
from carryover.tasks.knapsack.knapsack_spec import KNAPSACK
from carryover.tasks.traces.vocabulary import ContractName, TokenSource
from tests.tasks.agent.playing import make_context

# Numbers and names that occur nowhere else, so that finding one means that it leaked.
SEED = 860_411_937
WEIGHTS = (735_001, 735_002, 735_003, 735_004)
VALUES = (924_001, 924_002, 924_003, 924_004)
OPTIMUM = Packing(item_ids=("item_b", "item_d"), value=VALUES[1] + VALUES[3], weight=WEIGHTS[1] + WEIGHTS[3])
INSTANCE = Instance(
    spec=KNAPSACK["easy"],
    seed=SEED,
    items=tuple(
        Item(item_id=f"item_{letter}", weight=weight, value=value, item_class=item_class)
        for letter, weight, value, item_class in zip("abcd", WEIGHTS, VALUES, "PQRS", strict=True)
    ),
    capacity=1_500_000,
    inspection_budget=2,
    allowed_classes=("Q", "S"),
    optimum=OPTIMUM,
)
KEY = "sk-a-very-secret-key"
HIDDEN = (*WEIGHTS, *VALUES, OPTIMUM.value, OPTIMUM.weight, SEED, KEY, INSTANCE.instance_id)
HIDDEN_LISTS = (INSTANCE.allowed_classes, OPTIMUM.item_ids)
"""Not neighbours among all classes and all items, so that they stand side by side only where they are a list."""
NOSY_BLOCKS = (
    "print(dict(globals())); print(dir())",
    """
import os, sys
print(dict(os.environ), sys.argv, sys.path, sorted(sys.modules))
""",
    """
for tool in (inspect, take_item, list_items, finish):
    print(repr(tool), tool.__doc__)
    for name in ("__dict__", "__closure__", "__globals__", "__self__", "__wrapped__"):
        print(getattr(tool, name, None))
""",
    """
import gc
for thing in gc.get_objects():
    if isinstance(thing, (dict, tuple, list)):
        text = repr(thing)[:2000]
        if any(hint in text for hint in ("item_", "allowed", "optim", "seed")):
            print(text)
""",
    """
import sys
frame = sys._getframe()
while frame:
    print(frame.f_code.co_filename, frame.f_locals)
    frame = frame.f_back
""",
    """
try:
    take_item("item_a")
except Exception as error:
    print(error, error.__cause__, error.__context__)
take_item("item_b")
""",
    "print(list_items()); inspect('nothing')",
    "import random; print(random.getstate()[1][:4])",
)
PROBE = """
inspect("item_a")
try:
    take_item("item_a")
except Exception as error:
    print(error)
finish()
"""


def leaks(text):
    """Return what of the hidden is in a text; a list counts in either order, however its members are joined."""
    text = re.sub(r"\b0x[0-9a-f]+", "0x", text)  # an address may have any digits
    found = [str(hidden) for hidden in HIDDEN if str(hidden) in text]
    words = re.findall(r"\w+", text)
    pairs = set(pairwise(words))
    for first, second in HIDDEN_LISTS:
        is_listed = {(first, second), (second, first)} & pairs or {first + second, second + first} & set(words)
        found += [f"{first} {second}"] if is_listed else []
    return found


@pytest.mark.parametrize("form", ["Q, S", '["Q", "S"]', "{'S', 'Q'}", "QS", r"[\"Q\", \"S\"]", "('Q', 'S')"])
def test_the_allowed_classes_are_found_in_any_form(form):
    assert leaks(f"classes ['P', 'Q', 'R', 'S']; allowed: {form}.") == ["Q S"]


@pytest.mark.parametrize("form", ["item_b,item_d", '["item_b", "item_d"]', "('item_d', 'item_b')", "item_d item_b"])
def test_the_reference_solution_is_found_in_any_form(form):
    assert leaks(f"items item_a, item_b, item_c, item_d; take {form}.") == ["item_b item_d"]


@pytest.mark.parametrize("hidden", HIDDEN)
def test_a_hidden_value_is_found(hidden):
    assert leaks(f"x={hidden}.") == [str(hidden)]


class NosyModel:
    model_name = "nosy"
    token_source: TokenSource = "server"

    def __init__(self):
        self.texts = []

    async def complete(self, request):
        self.texts = [message.content for message in request.messages]
        turn = sum(message.role == "assistant" for message in request.messages)
        code = NOSY_BLOCKS[turn] if turn < len(NOSY_BLOCKS) else "finish()"
        return Completion(f"I look.\n```python\n{code}\n```", "stop", 0, 0, 0, 0.0)


@pytest.mark.parametrize("prompt_set", ["full", "compact"])
@pytest.mark.parametrize("contract", ["persistent", "stateless"])
def test_a_nosy_agent_finds_nothing(runtime, contract, prompt_set, monkeypatch):
    monkeypatch.setenv("CARRYOVER_TEST_KEY", KEY)
    model = NosyModel()
    condition = Condition(
        purpose="evaluation", model_name="nosy", runtime_contract=contract, bucket="easy", split="evaluation"
    )

    recorded = asyncio.run(
        run_episode(
            make_context(runtime, model, condition, spec=EpisodeSpec(prompt_set=prompt_set)),
            PlannedEpisode(INSTANCE),
        )
    )

    seen = "\n".join([*model.texts, *(step.output for step in recorded.steps)])
    assert recorded.episode.step_count == len(NOSY_BLOCKS) + 1
    assert "item_a" in seen  # from list_items: the agent did look
    assert leaks(seen) == []


def test_refusal_tells_the_class_of_one_item(runtime):
    class Prober(NosyModel):
        async def complete(self, request):
            self.texts = [message.content for message in request.messages]
            return Completion(f"I try.\n```python\n{PROBE}\n```", "stop", 0, 0, 0, 0.0)

    condition = Condition(
        purpose="evaluation", model_name="m", runtime_contract=ContractName.STATELESS, bucket="easy", split="evaluation"
    )
    recorded = asyncio.run(
        run_episode(
            make_context(runtime, Prober(), condition),
            PlannedEpisode(INSTANCE),
        )
    )

    assert recorded.steps[0].output == "Item item_a is of the disallowed class P.\n"
