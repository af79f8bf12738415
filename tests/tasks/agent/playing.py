"""Plays an episode of the tests: a model that gives replies from a list, on one easy instance."""

import asyncio
import json
from typing import Any

from carryover.tasks.agent.condition import Condition
from carryover.tasks.agent.episode import EpisodeContext, PlannedEpisode, run_episode
from carryover.tasks.agent.episode_spec import EpisodeSpec
from carryover.tasks.agent.prompt_format import PLAIN, Opening, open_wire, read_prompts
from carryover.tasks.agent.protocol import Completion
from carryover.tasks.knapsack.family import KNAPSACK_FAMILY
from carryover.tasks.knapsack.knapsack_spec import KNAPSACK
from carryover.tasks.knapsack.sampling import sample_instance
from carryover.tasks.traces.vocabulary import ContractName, TokenSource

INSTANCE = sample_instance(KNAPSACK["easy"], 11)
FIRST_ID = INSTANCE.items[0].item_id


class Model:
    """A client that gives replies from a list; an exception among them is raised."""

    model_name = "model"
    token_source: TokenSource = "server"

    def __init__(self, *replies, finish_reason="stop"):
        self.replies = list(replies)
        self.finish_reason = finish_reason
        self.requests = []

    async def complete(self, request):
        self.requests.append(request)
        reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        if isinstance(reply, Exception):
            raise reply
        return Completion(reply, self.finish_reason, 100, 40, 10, 0.5)


class SlowModel(Model):
    async def complete(self, request):
        await asyncio.sleep(60)
        raise AssertionError("the episode should have ended")


def block(code):
    return f"I act.\n```python\n{code}\n```"


def make_condition(runtime_contract="persistent", **fields):
    default = {"purpose": "evaluation", "model_name": "model", "bucket": "easy", "split": "evaluation"}
    return Condition(**{**default, "runtime_contract": runtime_contract, **fields})


def make_scripted_condition(runtime_contract, bucket="easy", split="train"):
    """Return the condition of a scripted teacher's episode."""
    fields = {"purpose": "teacher", "model_name": "scripted", "bucket": bucket, "split": split}
    return make_condition(ContractName(runtime_contract), **fields)


def make_context(runtime, client, condition=None, **fields):
    """Return the context of a knapsack episode; the fields replace its others."""
    default: dict[str, Any] = {
        "family": KNAPSACK_FAMILY,
        "condition": condition or make_condition(),
        "client": client,
        "runtime": runtime,
        "spec": EpisodeSpec(),
        "run_id": "run",
        "plan_digest": "plan",
        "stage_digest": "stage",
        "scale": "smoke",
    }
    return EpisodeContext(**default | fields)


def play(runtime, model, contract="persistent", *, condition=None, replicate=0, run_id="run", **fields):
    return asyncio.run(
        run_episode(
            make_context(
                runtime, model, condition or make_condition(contract), spec=EpisodeSpec(**fields), run_id=run_id
            ),
            PlannedEpisode(INSTANCE, replicate),
        )
    )


def observations(recorded):
    return [json.loads(turn.observation) for turn in recorded.turns[1:] if turn.observation is not None]


def open_study_wire(prompt_set, variation=PLAIN):
    """Return the format of a prompt set, with the texts of the knapsack."""
    return open_wire(prompt_set, read_prompts(prompt_set, KNAPSACK_FAMILY.prompts(prompt_set)), variation)


def opening_messages(
    prompt_set, instance, contract="persistent", *, cap: int | None = 25, header=None, variation=PLAIN
):
    """Return the first messages of an episode on an instance."""
    opening = Opening(
        goal_values=KNAPSACK_FAMILY.goal_values(instance),
        contract=contract,
        tool_count=4,
        tool_call_cap=cap,
        usual_tool_call_cap=KNAPSACK_FAMILY.usual_tool_call_cap(instance),
    )
    return open_study_wire(prompt_set, variation).opening_messages(opening, header)
