"""One loop in a thread of its own, for callers with a loop and without."""

import asyncio
import threading
from contextvars import copy_context
from types import SimpleNamespace

import pytest

from carryover.tasks.services import background
from carryover.tasks.services.background import AWAITED_SECONDS, awaited, stream, submit, wait_for


async def name_thread(pause: float = 0.0) -> str:
    await asyncio.sleep(pause)
    return threading.current_thread().name


async def fail() -> None:
    raise ValueError("broken")


async def count_to_three():
    for number in (1, 2, 3):
        yield number, await name_thread()


def test_work_runs_in_the_loops_own_thread():
    assert submit(name_thread()).result() == "carryover-agents"
    assert wait_for(name_thread()) == "carryover-agents"
    with pytest.raises(ValueError, match="broken"):
        wait_for(fail())


def test_the_loop_refuses_a_call_that_would_wait_for_itself():
    async def wait_inside() -> str:
        return wait_for(name_thread())

    with pytest.raises(RuntimeError, match="a synchronous call inside the agents' event loop; await the asynchronous"):
        wait_for(wait_inside())


def test_work_ends_with_a_wait_that_is_interrupted(monkeypatch):
    class Interrupted:
        is_cancelled = False

        def result(self) -> None:
            raise KeyboardInterrupt

        def cancel(self) -> None:
            self.is_cancelled = True

    future = Interrupted()
    work = name_thread()
    monkeypatch.setattr(background, "submit", lambda _: future)
    with pytest.raises(KeyboardInterrupt):
        wait_for(work)
    work.close()
    assert future.is_cancelled


def test_a_result_is_awaited_if_need_be_and_its_seconds_count(monkeypatch):
    times = iter([1.0, 4.0, 10.0, 15.0])
    monkeypatch.setattr(background, "time", SimpleNamespace(monotonic=lambda: next(times)))
    context = copy_context()
    context.run(AWAITED_SECONDS.set, 0.5)
    assert context.run(awaited, 3) == 3
    assert context.run(awaited, asyncio.sleep(0, "slept")) == "slept"
    with pytest.raises(ValueError, match="broken"):
        context.run(awaited, fail())
    assert context.run(AWAITED_SECONDS.get) == 0.5 + 3.0 + 5.0


def test_events_reach_the_callers_loop_in_order():
    async def collect() -> list[tuple[int, str]]:
        return [event async for event in stream(count_to_three())]

    assert asyncio.run(collect()) == [(number, "carryover-agents") for number in (1, 2, 3)]


def test_a_process_has_one_loop_whose_blocks_run_in_named_threads():
    async def name_block() -> str:
        return await asyncio.to_thread(lambda: threading.current_thread().name)

    assert wait_for(name_block()).startswith("carryover-block")
    (thread,) = (thread for thread in threading.enumerate() if thread.name == "carryover-agents")
    assert thread.daemon
