"""The environment as an OpenEnv server, a session per client."""

from collections.abc import Callable
from typing import Any

from carryover.tasks.environment.block_environment import BlockEnvironment, ChatMessage

OpenEnvironment = Callable[[], BlockEnvironment]
"""Opens one environment of a family under a contract."""


def make_app(open_environment: OpenEnvironment, *, max_sessions: int = 64) -> Any:
    """Return OpenEnv's FastAPI application, for its generic client.

    An action is `{"reply": TEXT}`, whose first fenced block runs. An observation holds the `messages` that follow: the
    opening ones after `reset`, then one a reply. Contract and family stand in the metadata of every observation.
    """
    from openenv.core.env_server.http_server import create_app  # pyright: ignore[reportMissingImports]
    from openenv.core.env_server.interfaces import Environment  # pyright: ignore[reportMissingImports]
    from openenv.core.env_server.types import (  # pyright: ignore[reportMissingImports]
        Action,
        EnvironmentMetadata,
        Observation,
        State,
    )
    from pydantic import Field

    class BlockAction(Action):
        """A model's reply."""

        reply: str = Field(description="The reply; its first fenced Python block runs.")

    class BlockObservation(Observation):
        """The messages that follow a reply."""

        messages: list[ChatMessage] = Field(default_factory=list, description="Messages with role and content.")

    class Served(Environment):
        """One session."""

        SUPPORTS_CONCURRENT_SESSIONS = True

        def __init__(self) -> None:
            super().__init__()
            self._environment = open_environment()
            self._state = State()
            self._metadata = {"contract": self._environment.contract, "family": self._environment.family_name}

        def reset(self, seed: int | None = None, episode_id: str | None = None, **_: Any) -> BlockObservation:
            """Begin an episode on the instance of a seed, by default 0."""
            messages = self._environment.reset(seed=seed or 0)
            self._state = State(episode_id=episode_id, step_count=0)
            return BlockObservation(messages=messages, reward=0.0, metadata=self._metadata)

        def step(self, action: BlockAction, timeout_s: float | None = None, **_: Any) -> BlockObservation:
            """Let a reply act; blocks end by the runtime's own limit."""
            step = self._environment.step(action.reply)
            self._state.step_count += 1
            messages = []
            if step.observation is not None:
                messages = [{"role": "user", "content": step.observation}]
            return BlockObservation(messages=messages, done=step.is_over, reward=step.reward, metadata=self._metadata)

        @property
        def state(self) -> State:
            """The session's counts."""
            return self._state

        def get_metadata(self) -> EnvironmentMetadata:
            """Return what is served."""
            description = f"family {self._metadata['family']} under the {self._metadata['contract']} contract"
            return EnvironmentMetadata(name="carryover", description=description, version="1")

        def close(self) -> None:
            """End the session's interpreter."""
            self._environment.close()

    return create_app(Served, BlockAction, BlockObservation, env_name="carryover", max_concurrent_envs=max_sessions)
