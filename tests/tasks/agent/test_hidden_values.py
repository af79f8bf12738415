"""An agent that looks everywhere it can must not find what an instance hides."""

import asyncio
from typing import Literal

import pytest

from tasks.agent.condition import Condition
from tasks.agent.loop import run_episode
from tasks.agent.protocol import Completion
from tasks.agent.spec import EpisodeSpec
from tasks.knapsack.instance import Instance, Item, Packing
from tasks.knapsack.spec import KNAPSACK

# Numbers and names that occur nowhere else, so that finding one means that it leaked.
SEED = 860_411_937
WEIGHTS = (735_001, 735_002, 735_003)
VALUES = (924_001, 924_002, 924_003)
INSTANCE = Instance(
    spec=KNAPSACK["easy"],
    seed=SEED,
    items=tuple(
        Item(item_id=f"item_{letter}", weight=weight, value=value, item_class=item_class)
        for letter, weight, value, item_class in zip("abc", WEIGHTS, VALUES, ("P", "Q", "R"), strict=True)
    ),
    capacity=900_000,
    inspection_budget=2,
    allowed_classes=("Q",),
    optimum=Packing(item_ids=("item_b",), value=VALUES[1], weight=WEIGHTS[1]),
)
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


class NosyModel:
    model_name = "nosy"
    token_source: Literal["server", "training_tokenizer"] = "server"

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
    monkeypatch.setenv("CARRYOVER_TEST_KEY", "sk-a-very-secret-key")
    model = NosyModel()
    condition = Condition(
        purpose="evaluation", model_name="nosy", runtime_contract=contract, bucket="easy", split="evaluation"
    )

    recorded = asyncio.run(
        run_episode(
            INSTANCE,
            condition,
            model,
            runtime,
            EpisodeSpec(prompt_set=prompt_set),
            run_id="run",
            plan_digest="plan",
            scale="smoke",
        )
    )

    seen = "\n".join([*model.texts, *(step.output for step in recorded.steps)])
    assert recorded.episode.step_count == len(NOSY_BLOCKS) + 1
    assert "item_a" in seen  # from list_items: the agent did look
    for hidden in (*WEIGHTS, *VALUES, SEED, "sk-a-very-secret-key", INSTANCE.instance_id):
        assert str(hidden) not in seen, hidden


def test_a_refusal_tells_the_class_of_that_item_and_no_other(runtime):
    class Prober(NosyModel):
        async def complete(self, request):
            self.texts = [message.content for message in request.messages]
            return Completion(f"I try.\n```python\n{PROBE}\n```", "stop", 0, 0, 0, 0.0)

    condition = Condition(
        purpose="evaluation", model_name="m", runtime_contract="stateless", bucket="easy", split="evaluation"
    )
    recorded = asyncio.run(
        run_episode(
            INSTANCE,
            condition,
            Prober(),
            runtime,
            EpisodeSpec(),
            run_id="run",
            plan_digest="plan",
            scale="smoke",
        )
    )

    assert recorded.steps[0].output == "Item item_a is of the disallowed class P.\n"
