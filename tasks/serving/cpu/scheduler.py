"""The asyncio side of the engines: requests wait here while passes run in a thread."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tasks.serving.cpu.engine import GenerationRequest, ModelEngine, Reply


class Scheduler:
    """Gives every model with work a step in turn, in one thread, as long as there is work."""

    def __init__(self, engines: Iterable[ModelEngine]) -> None:
        self.engines = {engine.loaded.name: engine for engine in engines}
        self._waiting: dict[GenerationRequest, asyncio.Future[Reply]] = {}
        self._has_work = asyncio.Event()

    async def complete(self, model_name: str, request: GenerationRequest) -> Reply:
        """Queue the request and return its reply; cancelling the call takes the request out of the batch."""
        future = asyncio.get_running_loop().create_future()
        self._waiting[request] = future
        self.engines[model_name].submit(request)
        self._has_work.set()
        try:
            return await future
        finally:
            request.is_cancelled = True
            del self._waiting[request]

    async def run(self) -> None:
        """Step until cancelled; an error of a step reaches every waiting request and ends the loop."""
        try:
            while True:
                await self._has_work.wait()
                self._has_work.clear()
                while any(engine.has_work for engine in self.engines.values()):
                    for request in await asyncio.to_thread(self._step_all):
                        self._answer(request)
        except Exception as error:
            for future in self._waiting.values():
                if not future.done():  # its caller gave up or has its reply, and has not run since
                    future.set_exception(RuntimeError(f"the engine stopped: {error}"))
            raise

    def _step_all(self) -> list[GenerationRequest]:
        import torch

        with torch.inference_mode():
            return [request for engine in self.engines.values() if engine.has_work for request in engine.step()]

    def _answer(self, request: GenerationRequest) -> None:
        future = self._waiting.get(request)
        if future is not None and not future.done() and request.reply is not None:
            future.set_result(request.reply)
