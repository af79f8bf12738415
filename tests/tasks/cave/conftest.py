"""Agents with scripted models, on a runtime that the session shares."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from carryover.tasks.agent.protocol import Completion, CompletionRequest, ModelError
from carryover.tasks.cave.agent import Agent
from carryover.tasks.cave.agent_spec import AgentSpec
from carryover.tasks.cave.scripted import scripted
from carryover.tasks.runtime.backend import Runtime
from carryover.tasks.runtime.open import open_runtime

OpenAgent = Callable[..., Agent]


@pytest.fixture(scope="session")
def fork_tree() -> Iterator[Runtime]:
    """A worker's runtime with an agent's policy and output limit."""
    runtime = open_runtime(AgentSpec().runtime)
    yield runtime
    runtime.close()


@pytest.fixture(scope="session")
def jupyter() -> Iterator[Runtime]:
    """The same with Jupyter kernels."""
    runtime = open_runtime(AgentSpec().runtime.model_copy(update={"backend": "jupyter"}))
    yield runtime
    runtime.close()


@pytest.fixture(params=["fork_tree", pytest.param("jupyter", marks=pytest.mark.kernel)])
def either_runtime(request: pytest.FixtureRequest) -> Runtime:
    """Either backend."""
    return request.getfixturevalue(request.param)


class Watched:
    """A model that keeps the requests it was sent."""

    def __init__(self, model) -> None:
        self.model_name, self.token_source = model.model_name, model.token_source
        self.requests: list[CompletionRequest] = []
        self._model = model

    async def complete(self, request: CompletionRequest) -> Completion:
        self.requests.append(request)
        return await self._model.complete(request)

    def shown(self, place: int = -1) -> str:
        """Return the last message of a request."""
        return self.requests[place].messages[-1].content


class BrokenModel:
    """An endpoint that answers nothing."""

    model_name, token_source = "broken", "server"

    async def complete(self, request: CompletionRequest) -> Completion:
        raise ModelError("connection refused")


@pytest.fixture
def open_agent(request: pytest.FixtureRequest) -> Iterator[OpenAgent]:
    """Open agents that end with the test, each with the model that it was given or the replies of a script."""
    opened: list[Agent] = []

    def open_agent(*replies, **options) -> Agent:
        model = scripted(*replies) if all(isinstance(reply, str) for reply in replies) else replies[0]
        options.setdefault("runtime", options.pop("on", None) or request.getfixturevalue("fork_tree"))
        opened.append(Agent(model, **options))
        return opened[-1]

    yield open_agent
    for agent in opened:
        agent.close()


@pytest.fixture
def watched() -> type[Watched]:
    return Watched


@pytest.fixture
def broken_model() -> BrokenModel:
    return BrokenModel()


@pytest.fixture
def save_file(tmp_path: Path) -> Path:
    return tmp_path / "agent.jsonl"
