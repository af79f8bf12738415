"""The machine plays a family that it has never heard of: it knows no knapsack."""

import ast
import asyncio
import json
from pathlib import Path
from typing import NamedTuple

import pytest

from carryover.tasks.agent.episode import PlannedEpisode, run_episode
from carryover.tasks.agent.episode_spec import EpisodeSpec
from carryover.tasks.agent.family import Score
from carryover.tasks.knapsack.environment import KnapsackEnvironment
from carryover.tasks.runtime.inside.tools import ToolRuntimeException
from tests.tasks.agent.playing import INSTANCE, Model, block, make_condition, make_context

AGENT = Path(__file__).parents[3] / "tasks" / "agent"


class Target(NamedTuple):
    """A number to be reached."""

    instance_id: str
    total: int


class Counter:
    """Adds numbers up to a target."""

    def __init__(self, target):
        self.total = 0
        self.is_over = False
        self.tools = {"add": self.add, "finish": self.finish}
        self._target = target

    def add(self, number: int) -> int:
        """Add a number, and return the total."""
        if self.total + number > self._target.total:
            raise ToolRuntimeException("That is too much.")
        self.total += number
        return self.total

    def finish(self) -> None:
        """End the episode."""
        self.is_over = True

    def known(self):
        return {"total": self.total}

    def score(self):
        reached = self.total / self._target.total
        return Score(reached, is_solved=reached == 1.0, metrics={"total": self.total})


class Counting:
    """A family in a few lines."""

    name = "counting"
    known_names = ("total",)

    def open(self, instance):
        return Counter(instance)

    def prompts(self, prompt_set):
        return {"goal": "Count to $target.", "runtime_injected": "Before each block, `total` is bound."}

    def goal_values(self, instance):
        return {"target": instance.total}

    def usual_tool_call_cap(self, instance):
        return 25

    def open_teacher(self, bucket, contract, count_tokens=None, *, prints_table=True, habits=None):
        raise ValueError(f"no teacher counts under {contract}")


def play(runtime, *blocks, contract="persistent"):
    model = Model(*(block(code) for code in blocks))
    context = make_context(
        runtime,
        model,
        make_condition(contract),
        family=Counting(),
        spec=EpisodeSpec(prompt_set="compact", tool_call_cap=2),
    )
    return asyncio.run(run_episode(context, PlannedEpisode(Target("to five", 5)))), model


def test_a_family_of_ones_own_is_played_and_scored(runtime):
    recorded, model = play(runtime, "print(add(2))", "print(add(3))\nfinish()")
    assert (recorded.episode.instance_id, recorded.episode.finish_reason) == ("to five", "finish_tool")
    assert (recorded.episode.score, recorded.episode.is_solved) == (1.0, True)
    assert (recorded.episode.family, recorded.episode.metrics_json) == ("counting", '{"total":5}')
    assert recorded.episode.taken_count is None
    assert [step.output for step in recorded.steps] == ["2\n", "5\n"]
    assert recorded.episode.call_site_count == 3
    system, task = model.requests[0].messages
    assert task.content == "Count to 5."
    assert "at most 2 tool calls, all two tools counted" in system.content


def test_a_familys_refusal_is_an_observation(runtime):
    recorded, _ = play(runtime, "add(9)", "finish()")
    assert json.loads(recorded.turns[1].observation or "")["error"] == "ToolRuntimeException: That is too much."
    assert (recorded.episode.score, recorded.errors[0].kind) == (0.0, "tool")


def test_an_injecting_contract_binds_what_the_family_knows(runtime):
    recorded, _ = play(runtime, "add(2)", "print(total)", "finish()", contract="injected")
    assert recorded.steps[1].output == "2\n"


@pytest.mark.parametrize("file", sorted(AGENT.rglob("*.py")), ids=lambda file: file.name)
def test_the_machine_imports_no_family(file):
    nodes = ast.walk(ast.parse(file.read_text(encoding="utf-8")))
    imported = [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)]
    assert not [name for name in imported if "knapsack" in name]


def test_a_knapsack_scores_as_its_outcome():
    environment = KnapsackEnvironment(INSTANCE)
    environment.inspect(INSTANCE.optimum.item_ids[0])
    environment.take_item(INSTANCE.optimum.item_ids[0])
    outcome = environment.outcome()
    assert environment.score() == Score(
        outcome.score,
        is_solved=False,
        metrics={
            "value_taken": outcome.value_taken,
            "weight_taken": outcome.weight_taken,
            "taken_count": 1,
            "inspected_count": 1,
        },
        columns=("value_taken", "weight_taken", "taken_count", "inspected_count"),
    )
