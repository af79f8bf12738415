"""A session that OpenEnv serves, with the few names of its package that a session uses."""

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from pydantic import BaseModel

from carryover.tasks.environment.block_environment import BlockEnvironment
from carryover.tasks.environment.for_openenv import make_app

PACKAGE = "openenv.core.env_server"
METADATA = {"contract": "stateless", "family": "knapsack"}


class Action(BaseModel):
    """What a client sends."""


class Observation(BaseModel):
    """What a client is sent."""

    done: bool = False
    reward: float | None = None
    metadata: dict[str, Any] = {}


class Session:
    """The base of a session."""


def create_app(session, action, observation, **named):
    return SimpleNamespace(session=session, action=action, observation=observation, named=named)


@pytest.fixture
def openenv(monkeypatch):
    """Stand in for the package."""
    types = {"Action": Action, "Observation": Observation, "State": SimpleNamespace}
    members = {
        "http_server": {"create_app": create_app},
        "interfaces": {"Environment": Session},
        "types": {**types, "EnvironmentMetadata": SimpleNamespace},
    }
    for name in ("openenv", "openenv.core", PACKAGE):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    for name, found in members.items():
        module = ModuleType(f"{PACKAGE}.{name}")
        vars(module).update(found)
        monkeypatch.setitem(sys.modules, module.__name__, module)


@pytest.fixture
def environments():
    """Environments that the application opened, in order."""
    return []


@pytest.fixture
def app(openenv, runtime, environments):
    def open_environment():
        environments.append(BlockEnvironment("knapsack", "stateless", max_turns=2, runtime=runtime))
        return environments[-1]

    return make_app(open_environment, max_sessions=3)


def test_the_application_is_named_and_bounds_its_sessions(app):
    assert app.named == {"env_name": "carryover", "max_concurrent_envs": 3}
    assert app.session.SUPPORTS_CONCURRENT_SESSIONS
    session = app.session()
    assert vars(session.get_metadata()) == {
        "name": "carryover", "description": "family knapsack under the stateless contract", "version": "1",
    }  # fmt: skip
    assert vars(session.state) == {}


def test_a_session_plays_the_environments_episode(app, environments, runtime):
    alone = BlockEnvironment("knapsack", "stateless", max_turns=2, runtime=runtime)
    session = app.session()
    opened = session.reset(seed=3, episode_id="e")
    assert opened.model_dump() == {
        "messages": alone.reset(seed=3), "done": False, "reward": 0.0, "metadata": METADATA,
    }  # fmt: skip
    reply = "I list.\n```python\nprint(list_items())\n```"
    told = session.step(app.action(reply=reply))
    messages = [{"role": "user", "content": alone.step(reply).observation}]
    assert told.model_dump() == {"messages": messages, "done": False, "reward": 0.0, "metadata": METADATA}
    assert vars(session.state) == {"episode_id": "e", "step_count": 1}
    end = session.step(app.action(reply="```python\nfinish()\n```"))
    assert end.model_dump() == {"messages": [], "done": True, "reward": 0.0, "metadata": METADATA}
    assert session.state.step_count == 2
    session.close()
    assert environments[0].is_over


def test_a_session_begins_with_seed_0_unless_told(app, runtime):
    session = app.session()
    alone = BlockEnvironment("knapsack", "stateless", max_turns=2, runtime=runtime)
    assert session.reset().messages == session.reset(seed=None).messages == alone.reset(seed=0)
    session.close()
    assert alone.reset(seed=1) != alone.reset(seed=0)
