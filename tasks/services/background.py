"""One event loop in a thread, for agents and asynchronous tools.

So a caller may be synchronous, asynchronous or a notebook, and a connection belongs to one loop.
"""

import asyncio
import inspect
import os
import threading
import time
from collections.abc import AsyncIterator, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import ContextVar
from functools import cache
from typing import Any, TypeVar

Result = TypeVar("Result")
_THREADS = 512
"""Blocks that may run at a time; a thread starts when it is first needed."""


AWAITED_SECONDS: ContextVar[float] = ContextVar("awaited_seconds", default=0.0)
"""What this context has spent in `awaited`."""


def submit(work: Coroutine[Any, Any, Result]) -> "Future[Result]":
    """Begin work on the loop."""
    return asyncio.run_coroutine_threadsafe(work, _loop(os.getpid()))


def wait_for(work: Coroutine[Any, Any, Result]) -> Result:
    """Return the result of work on the loop.

    Raises:
        RuntimeError: The caller runs on the loop itself and would wait for ever.
    """
    if threading.current_thread().name == _NAME:
        work.close()
        raise RuntimeError("a synchronous call inside the agents' event loop; await the asynchronous method instead")
    future = submit(work)
    try:
        return future.result()
    except BaseException:
        future.cancel()
        raise


def awaited(result: Any) -> Any:
    """Return a result, awaited on the loop if need be.

    Raise what `wait_for` raises.
    """
    if not inspect.isawaitable(result):
        return result

    async def finish() -> Any:
        return await result

    started = time.monotonic()
    try:
        return wait_for(finish())
    finally:
        AWAITED_SECONDS.set(AWAITED_SECONDS.get() + time.monotonic() - started)


async def stream(events: AsyncIterator[Result]) -> AsyncIterator[Result]:
    """Yield on the caller's loop from the agents' loop."""
    while True:
        try:
            yield await asyncio.wrap_future(submit(anext(events)))  # type: ignore[arg-type]
        except StopAsyncIteration:
            return


_NAME = "carryover-agents"


@cache
def _loop(_process_id: int) -> asyncio.AbstractEventLoop:
    """Return this process's loop; a fork gets its own.

    A fork has no thread of its parent's.
    """
    loop = asyncio.new_event_loop()
    loop.set_default_executor(ThreadPoolExecutor(_THREADS, thread_name_prefix="carryover-block"))
    threading.Thread(target=loop.run_forever, name=_NAME, daemon=True).start()
    return loop
