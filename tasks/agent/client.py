"""Descriptions of the model that answers, its client, and its concurrent episodes."""

import asyncio
import threading
from collections import deque
from collections.abc import AsyncIterator
from concurrent.futures import Future
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

from carryover.tasks.agent.condition import Condition
from carryover.tasks.agent.episode_spec import EndpointSpec
from carryover.tasks.agent.family import Family
from carryover.tasks.agent.openai_client import OpenAIClient
from carryover.tasks.agent.protocol import CountTokens, ModelClient
from carryover.tasks.agent.response_cache import ResponseCache
from carryover.tasks.agent.scripted import VariedModel
from carryover.tasks.services.frozen_model import FrozenModel


class EpisodeSlots:
    """A first-in, first-out semaphore for tasks of several event loops.

    `asyncio.Semaphore` belongs to one loop, and `threading.Semaphore` would stop the loop that waits.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        """Slots, free or not."""
        self._free = count
        self._waiting: deque[Future[None]] = deque()
        self._lock = threading.Lock()

    async def __aenter__(self) -> None:
        with self._lock:
            if self._free > 0:
                self._free -= 1
                return
            turn = Future[None]()
            self._waiting.append(turn)
        try:
            await asyncio.wrap_future(turn)
        except asyncio.CancelledError:
            if not turn.cancel():  # the slot has been handed over meanwhile
                self._hand_over()
            raise

    async def __aexit__(self, *_: object) -> None:
        self._hand_over()

    def _hand_over(self) -> None:
        with self._lock:
            while self._waiting:
                turn = self._waiting.popleft()
                if turn.set_running_or_notify_cancel():  # nobody waits for a cancelled one
                    turn.set_result(None)
                    return
            self._free += 1


_slots: dict[tuple[str, int], EpisodeSlots] = {}


class ScriptedClientSpec(FrozenModel):
    """A deterministic policy."""

    kind: Literal["scripted"] = "scripted"
    prints_table: bool = True
    """Whether a stateless teacher of the small buckets prints the table that it rebuilds."""
    habits: dict[str, tuple[str | int, ...]] | None = None
    """Levels by habit, one of each drawn per instance; None for the fixed teacher."""
    concurrency: int = 4
    """Episodes at a time."""

    def slots(self) -> EpisodeSlots:
        """Return slots of the caller's own."""
        return EpisodeSlots(self.concurrency)


class EndpointClientSpec(FrozenModel):
    """A model behind an OpenAI-compatible endpoint."""

    kind: Literal["endpoint"] = "endpoint"
    endpoint: EndpointSpec
    cache: Path | None = None
    """Folder that keeps a teacher's responses by request; if None, every request is sent."""
    asks_anew: bool = False
    """Whether kept responses answer only the episodes that asked for them."""

    @property
    def concurrency(self) -> int:
        """Episodes at a time: one for each request in flight."""
        return self.endpoint.concurrency

    def slots(self) -> EpisodeSlots:
        """Return the endpoint's slots, shared by conditions with the same limit."""
        key = (self.endpoint.base_url, self.concurrency)
        return _slots.setdefault(key, EpisodeSlots(self.concurrency))  # one step, also for several threads


ClientSpec = ScriptedClientSpec | EndpointClientSpec


@asynccontextmanager
async def open_client(
    spec: ClientSpec, condition: Condition, family: Family, count_tokens: CountTokens | None = None
) -> AsyncIterator[ModelClient | VariedModel]:
    """Yield the client that plays a condition, and close its connections.

    `count_tokens` counts for a scripted one.
    """
    match spec:
        case ScriptedClientSpec():
            contract = condition.train_contract or condition.runtime_contract  # the script's own, on any runtime
            yield family.open_teacher(
                condition.bucket,
                condition.defined(contract),
                count_tokens,
                prints_table=spec.prints_table,
                habits=spec.habits,
            )
        case EndpointClientSpec():
            cache = None if spec.cache is None else ResponseCache(spec.cache, asks_anew=spec.asks_anew)
            client = OpenAIClient(_endpoint(spec, condition), condition.model_name, cache=cache)
            try:
                yield client
            finally:
                await client.close()


def _endpoint(spec: EndpointClientSpec, condition: Condition) -> EndpointSpec:
    """Return a condition's endpoint; an untrained base has another chat template."""
    endpoint = spec.endpoint
    is_base = condition.purpose == "evaluation" and condition.train_contract is None
    if not is_base:
        return endpoint
    variables: Any = endpoint.extra_body.get("chat_template_kwargs", {})
    body = {**endpoint.extra_body, "chat_template_kwargs": {**variables, "is_base": True}}
    return endpoint.model_copy(update={"extra_body": body})
