"""The plug-in of verifiers, with the few names of its package that a plug-in uses."""

import asyncio
import importlib
import json
import sys
from contextlib import suppress
from types import ModuleType, SimpleNamespace
from typing import Any, Generic, TypeVar

import httpx
import pytest
from pydantic import BaseModel

from carryover.tasks.environment.block_environment import BlockEnvironment

PLUGIN = "carryover.tasks.environment.for_verifiers"
D = TypeVar("D")
S = TypeVar("S")
LIST = "I list.\n```python\nprint(list_items())\n```"
LOST = "I read.\n```python\nprint(lost)\n```"
END = "I end.\n```python\nfinish()\n```"
TAKE = """I take.
```python
import json
for item_id in json.loads(list_items()):
    try:
        inspect(item_id)
        take_item(item_id)
    except Exception:
        pass
```"""


class TaskData(BaseModel):
    """Data of a task."""

    name: str
    prompt: str
    system_prompt: str | None


class Task(Generic[D, S]):
    """A task of a set."""

    def __init__(self, data, config) -> None:
        self.data = data
        self.config = config


class Taskset(Generic[D, S]):
    """A set of tasks."""

    def __init__(self, config) -> None:
        self.config = config


class TasksetConfig(BaseModel):
    """Arguments of a set."""

    task: str = "config of a task"


class Harness(Generic[D]):
    """Plays tasks."""

    def __init__(self, config) -> None:
        self.config = config


def reward(weight):
    def mark(function):
        function.weight = weight
        return function

    return mark


@pytest.fixture
def plugin(monkeypatch):
    """Import the plug-in over a stand-in for the package."""
    package = ModuleType("verifiers")
    names = ModuleType("verifiers.v1")
    vars(names).update(
        Harness=Harness, HarnessConfig=BaseModel, ModelContext=object, ProgramResult=SimpleNamespace, Runtime=object,
        State=BaseModel, Task=Task, TaskData=TaskData, Taskset=Taskset, TasksetConfig=TasksetConfig, Trace=object,
        metric=lambda function: function, reward=reward,
    )  # fmt: skip
    vars(package)["v1"] = names
    monkeypatch.setitem(sys.modules, "verifiers", package)
    monkeypatch.setitem(sys.modules, "verifiers.v1", names)
    found: Any = importlib.import_module(PLUGIN)
    yield found
    with suppress(KeyError):
        del sys.modules[PLUGIN]


def test_a_task_holds_the_opening_and_the_conditions_of_its_seed(plugin, runtime, monkeypatch):
    closed = []
    close = plugin.BlockEnvironment.close
    monkeypatch.setattr(plugin.BlockEnvironment, "close", lambda self: closed.append(close(self)))
    config = plugin.BlockTasksetConfig(
        family="log_triage", contract="stateless", bucket="busy", first_seed=4, num_tasks=2, is_shaped=True, max_turns=3
    )
    first, second = plugin.BlockTaskset(config).load()
    assert len(closed) == 1
    *system, goal = BlockEnvironment("log_triage", "stateless", bucket="busy", runtime=runtime).opening(4)
    assert first.data.model_dump() == {
        "name": "log_triage-stateless-4",
        "prompt": goal["content"],
        "system_prompt": "\n\n".join(message["content"] for message in system),
        "family": "log_triage",
        "contract": "stateless",
        "bucket": "busy",
        "seed": 4,
        "is_shaped": True,
        "max_turns": 3,
    }
    assert first.config == config.task
    assert (second.data.seed, second.data.name) == (5, "log_triage-stateless-5")


def test_a_set_is_of_the_paper_s_family_unless_told(plugin):
    assert plugin.BlockTasksetConfig().model_dump() == {
        "task": "config of a task",
        "family": "knapsack",
        "contract": "persistent",
        "bucket": None,
        "first_seed": 0,
        "num_tasks": 100,
        "is_shaped": False,
        "max_turns": 24,
    }


@pytest.fixture
def task(plugin):
    def make(**changes):
        data = {
            "name": "t", "prompt": "", "system_prompt": None, "family": "knapsack", "contract": "stateless",
            "bucket": "small", "seed": 3, "is_shaped": False, "max_turns": 4,
        }  # fmt: skip
        return plugin.BlockTask(plugin.BlockData(**{**data, **changes}), None)

    return make


def test_a_task_is_scored_by_its_state(plugin, task):
    state = plugin.BlockState(score=0.5, turn_rewards=[0.25, 0.5], missed_names=2)
    trace = SimpleNamespace(state=state)
    assert asyncio.run(task().score_of_state(trace)) == 0.5
    assert asyncio.run(task(is_shaped=True).score_of_state(trace)) == 0.75
    assert asyncio.run(task().missed_names(trace)) == 2.0
    assert plugin.BlockTask.score_of_state.weight == 1.0


def test_a_task_is_valid_if_its_reference_solution_scores_1(plugin, task, monkeypatch):
    assert asyncio.run(task().validate(None)) is True

    def refuse(self, instance):
        raise plugin.UserError("no optimum")

    monkeypatch.setattr(type(plugin.choose_family("knapsack")), "validate", refuse)
    assert asyncio.run(task().validate(None)) is False


class Endpoint:
    """Answers in place of verifiers' interception server, and keeps what it was sent."""

    def __init__(self, replies) -> None:
        self.replies = list(replies)
        self.asked = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request)
        if not self.replies:
            return httpx.Response(500, text="the run is over")
        text, finish_reason = self.replies.pop(0)
        message = {"role": "assistant", "content": text}
        return httpx.Response(200, json={"choices": [{"message": message, "finish_reason": finish_reason}]})


@pytest.fixture
def launch(plugin, task, runtime, monkeypatch):
    """Play a task against an endpoint; return the result, the trace's state and what was asked."""

    def launch(*replies, **changes):
        endpoint = Endpoint(replies)
        opened = []

        class Client(httpx.AsyncClient):
            def __init__(self, **named) -> None:
                opened.append(named)
                super().__init__(**named, transport=httpx.MockTransport(endpoint))

        monkeypatch.setattr(plugin.httpx, "AsyncClient", Client)
        monkeypatch.setattr(plugin, "open_runtime", lambda _spec: runtime)
        harness = plugin.BlockHarness("a config")
        assert harness.config == "a config"
        trace = SimpleNamespace(state=plugin.BlockState())
        context = SimpleNamespace(model="m")
        data = task(**changes).data
        result = asyncio.run(harness.launch(context, trace, None, "http://here/v1", "key", {}, data))
        assert opened == [{"timeout": None, "headers": {"Authorization": "Bearer key"}}]
        return vars(result), trace.state, endpoint.asked

    return launch


def test_a_harness_plays_the_environments_episode(launch, runtime):
    alone = BlockEnvironment("knapsack", "stateless", max_turns=4, runtime=runtime)
    told = alone.reset(seed=3)
    for text, is_cut_off in ((LIST, False), (LIST, True), (LOST, False)):
        observation = alone.step(text, is_cut_off=is_cut_off).observation
        told += [{"role": "assistant", "content": text}, {"role": "user", "content": observation}]
    result, state, asked = launch((LIST, "stop"), (LIST, "length"), (LOST, "stop"), (END, "stop"))
    assert result == {"exit_code": 0, "stdout": "", "stderr": ""}
    assert {str(request.url) for request in asked} == {"http://here/v1/chat/completions"}
    assert len(asked) == 4
    assert json.loads(asked[-1].content) == {"model": "m", "messages": told}
    assert (state.score, state.turn_rewards, state.missed_names) == (0.0, [0.0] * 4, 1)


def test_a_reply_without_text_is_an_empty_one(launch):
    _, state, asked = launch((None, "stop"), (END, "stop"))
    assert json.loads(asked[-1].content)["messages"][-2] == {"role": "assistant", "content": ""}
    assert state.turn_rewards == [0.0, 0.0]


def test_a_run_that_ends_early_is_told_with_the_state_so_far(launch):
    result, state, _ = launch((TAKE, "stop"), is_shaped=True)
    assert result == {"exit_code": 1, "stdout": "", "stderr": "the run is over"}
    assert state.score > 0
    assert state.turn_rewards == [state.score]
