"""The asyncio side of the engines: requests wait here while one thread computes passes without a break."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from carryover.tasks.serving.cpu.engine import GenerationRequest, ModelEngine, Reply

THREAD_NAME = "engine"
"""What the name of the thread that computes passes begins with."""
STOPPED = "the engine stopped; start the server again"


class Scheduler:
    """Gives every model with work a step in turn, in one thread, as long as there is work."""

    def __init__(self, engines: Iterable[ModelEngine]) -> None:
        self.engines = {engine.loaded.name: engine for engine in engines}
        self._waiting: dict[GenerationRequest, asyncio.Future[Reply]] = {}
        self._has_news = threading.Event()
        """Set when a request comes and when the thread shall end."""
        self._is_stopping = False

    async def complete(self, model_name: str, request: GenerationRequest) -> Reply:
        """Queue the request and return its reply; cancelling the call takes the request out of the batch.

        Raises:
            RuntimeError: Computing the reply failed, or the engine has stopped.
        """
        if self._is_stopping:
            raise RuntimeError(STOPPED)
        future = asyncio.get_running_loop().create_future()
        self._waiting[request] = future
        self.engines[model_name].submit(request)
        self._has_news.set()
        try:
            return await future
        finally:
            request.is_cancelled = True
            del self._waiting[request]

    async def run(self) -> None:
        """Step until cancelled; an error of a step fails the requests of its model, and the next ones are served."""
        loop = asyncio.get_running_loop()
        # One thread for as long as this runs: handing over every pass costs as much as a small model's pass.
        executor = ThreadPoolExecutor(1, thread_name_prefix=THREAD_NAME)
        working = loop.run_in_executor(executor, self._work, loop)
        executor.shutdown(wait=False)
        try:
            await asyncio.shield(working)
        finally:
            for future in self._waiting.values():
                if not future.done():  # its caller gave up or has its reply, and has not run since
                    future.set_exception(RuntimeError(STOPPED))
            self._is_stopping = True
            self._has_news.set()
            await asyncio.wait([working])

    def _work(self, loop: asyncio.AbstractEventLoop) -> None:
        import torch

        while not self._is_stopping:
            self._has_news.wait()
            self._has_news.clear()
            while not self._is_stopping and any(engine.has_work for engine in self.engines.values()):
                for engine in self.engines.values():
                    try:
                        with torch.inference_mode():
                            ended = engine.step() if engine.has_work else []
                    except Exception as error:  # noqa: BLE001 - no request may end the thread that serves all others
                        ended = engine.fail(error)
                    for request in ended:
                        loop.call_soon_threadsafe(self._answer, request)

    def _answer(self, request: GenerationRequest) -> None:
        future = self._waiting.get(request)
        if future is None or future.done():
            return
        if request.reply is not None:
            future.set_result(request.reply)
        elif request.error is not None:
            future.set_exception(RuntimeError(f"the reply could not be computed: {request.error}"))
