"""The engines' asyncio side: requests wait, one thread computes."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from carryover.tasks.serving.cpu.model_engine import GenerationReply, GenerationRequest, ModelEngine

THREAD_NAME = "engine"
"""Prefix of the name of the thread that computes passes."""
STOPPED = "the engine stopped; start the server again"


class Scheduler:
    """Gives models with work a step in turn, in one thread."""

    def __init__(self, engines: Iterable[ModelEngine]) -> None:
        self.engines = {engine.loaded.name: engine for engine in engines}
        self._has_news = threading.Event()
        """Set when a request comes and when the thread shall end."""
        self._is_stopping = False

    async def complete(self, model_name: str, request: GenerationRequest) -> GenerationReply:
        """Return a request's reply, or raise `RuntimeError`; cancelling removes it."""
        if self._is_stopping:
            raise RuntimeError(STOPPED)
        self.engines[model_name].submit(request)
        self._has_news.set()
        return await asyncio.wrap_future(request.answer)

    async def run(self) -> None:
        """Step until cancelled; an error fails that model's requests alone."""
        # One thread for as long as this runs: handing over every pass costs as much as a small model's pass.
        executor = ThreadPoolExecutor(1, thread_name_prefix=THREAD_NAME)
        working = asyncio.get_running_loop().run_in_executor(executor, self.work)
        executor.shutdown(wait=False)
        try:
            await asyncio.shield(working)
        finally:
            self._is_stopping = True
            self._has_news.set()
            await asyncio.wait([working])

    def work(self) -> None:
        """Compute passes whenever there is work, until `run` is cancelled."""
        import torch

        while not self._is_stopping:
            self._has_news.wait()
            self._has_news.clear()
            while not self._is_stopping:
                busy = [each for each in self.engines.values() if each.has_work]
                if not busy:
                    break
                for engine in busy:
                    try:
                        with torch.inference_mode():
                            engine.step()
                    except Exception as error:  # noqa: BLE001 - no request may end the thread that serves all others
                        engine.fail(RuntimeError(f"the reply could not be computed: {error}"))
        for engine in self.engines.values():
            engine.fail(RuntimeError(STOPPED))
