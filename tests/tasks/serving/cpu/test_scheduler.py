import asyncio
import threading

import pytest

from carryover.tasks.serving.cpu.cache import CachePool
from carryover.tasks.serving.cpu.model_engine import GenerationRequest, ModelEngine
from carryover.tasks.serving.cpu.sampling import SamplingParameters
from carryover.tasks.serving.cpu.scheduler import STOPPED, THREAD_NAME, Scheduler
from tests.tasks.serving.tiny import prompt_of


def request_of(max_tokens=5):
    return GenerationRequest(prompt_of(9), SamplingParameters(max_tokens, ignores_end=True))


def build_engine(loaded):
    return ModelEngine(loaded, CachePool(2**26), max_running=4)


def run_with_scheduler(engine, body):
    """Run `body(scheduler, engine)` beside a running scheduler."""

    async def main():
        scheduler = Scheduler([engine])
        running = asyncio.create_task(scheduler.run())
        try:
            return await body(scheduler, engine)
        finally:
            running.cancel()
            await asyncio.wait([running])

    return asyncio.run(main())


def test_requests_are_answered_as_they_come(loaded):
    async def body(scheduler, _engine):
        return await asyncio.gather(*(scheduler.complete(loaded.name, request_of(count)) for count in (3, 9, 6)))

    assert [reply.completion_tokens for reply in run_with_scheduler(build_engine(loaded), body)] == [3, 9, 6]


class PausedEngine(ModelEngine):
    """An engine that pauses after every pass until it may go on."""

    def __init__(self, loaded):
        super().__init__(loaded, CachePool(2**26), max_running=4)
        self.has_stepped, self.may_go_on = threading.Event(), threading.Event()

    def step(self):
        super().step()
        self.has_stepped.set()
        self.may_go_on.wait()


def test_a_caller_that_gives_up_takes_its_request_along(loaded):
    async def body(scheduler, engine):
        leaving = asyncio.create_task(scheduler.complete(loaded.name, request_of(900)))
        await asyncio.to_thread(engine.has_stepped.wait)
        leaving.cancel()
        await asyncio.wait([leaving])
        engine.may_go_on.set()
        reply = await scheduler.complete(loaded.name, request_of(5))
        return leaving.cancelled(), reply.completion_tokens, engine.has_work

    assert run_with_scheduler(PausedEngine(loaded), body) == (True, 5, False)


def test_a_failed_pass_fails_its_requests_and_serves_the_next(loaded):
    async def body(scheduler, engine):
        # No such token: the embedding refuses it.
        broken = GenerationRequest([10_000], SamplingParameters(3))
        results = await asyncio.gather(
            scheduler.complete(loaded.name, broken),
            scheduler.complete(loaded.name, request_of()),
            return_exceptions=True,
        )
        reply = await scheduler.complete(loaded.name, request_of(5))
        return [str(result) for result in results], reply.completion_tokens, engine.has_work

    messages, count, has_work = run_with_scheduler(build_engine(loaded), body)
    assert [message.split(":")[0] for message in messages] == ["the reply could not be computed"] * 2
    assert (count, has_work) == (5, False)


class WatchedEngine(ModelEngine):
    """An engine that remembers the threads that stepped it."""

    def __init__(self, loaded):
        super().__init__(loaded, CachePool(2**26), max_running=4)
        self.threads = set()

    def step(self):
        self.threads.add(threading.current_thread())
        return super().step()


def test_all_passes_run_in_one_thread_beside_the_loop(loaded):
    async def body(scheduler, engine):
        for _ in range(3):
            await asyncio.gather(*(scheduler.complete(loaded.name, request_of()) for _ in range(4)))
        return engine.threads

    (thread,) = run_with_scheduler(WatchedEngine(loaded), body)
    assert thread.name.startswith(THREAD_NAME)  # the scheduler's own, and none that asyncio lends
    thread.join()  # it ends with the scheduler


class FailingPool(CachePool):
    """A pool that has no memory for the first cache that is asked for."""

    has_failed = False

    def lease(self, *arguments, **named):
        if not self.has_failed:
            self.has_failed = True
            raise RuntimeError("no memory")
        return super().lease(*arguments, **named)


def test_a_failure_reaches_waiting_callers_beside_a_cancelled_one(loaded):
    async def main():
        scheduler = Scheduler([ModelEngine(loaded, FailingPool(2**20), max_running=1)])
        leaving = scheduler.complete(loaded.name, request_of(1))
        leaving.send(None).cancel()  # as a task is cancelled; it does not run again until it is closed
        waiting = asyncio.create_task(scheduler.complete(loaded.name, request_of(1)))
        running = asyncio.create_task(scheduler.run())
        await asyncio.wait([waiting])
        leaving.close()
        reply = await scheduler.complete(loaded.name, request_of(2))
        running.cancel()
        await asyncio.wait([running])
        return str(waiting.exception()), reply.completion_tokens

    assert asyncio.run(main()) == ("the reply could not be computed: no memory", 2)


def test_a_request_to_a_scheduler_that_has_ended_is_refused(loaded):
    async def main():
        scheduler = Scheduler([build_engine(loaded)])
        running = asyncio.create_task(scheduler.run())
        await asyncio.sleep(0)
        running.cancel()
        await asyncio.wait([running])
        # A reply would take forever: the limit ends a test that fails.
        await asyncio.wait_for(scheduler.complete(loaded.name, request_of()), timeout=1)

    with pytest.raises(RuntimeError, match=STOPPED):
        asyncio.run(main())


def test_a_scheduler_that_is_cancelled_answers_those_who_wait(loaded):
    async def main():
        engine = PausedEngine(loaded)
        scheduler = Scheduler([engine])
        running = asyncio.create_task(scheduler.run())
        waiting = asyncio.create_task(scheduler.complete(loaded.name, request_of(900)))
        await asyncio.to_thread(engine.has_stepped.wait)
        running.cancel()
        engine.may_go_on.set()
        await asyncio.wait([running])
        await asyncio.sleep(0)  # the waiting call goes on
        assert waiting.done()
        return str(waiting.exception())

    assert asyncio.run(main()) == STOPPED


class IdleEngine(ModelEngine):
    """An engine that counts how often it is asked for work."""

    look_count = 0

    @property
    def has_work(self):
        self.look_count += 1
        return super().has_work


def test_a_scheduler_without_requests_asks_no_engine(loaded):
    async def body(scheduler, engine):
        await scheduler.complete(loaded.name, request_of(2))
        await asyncio.sleep(0.05)  # the thread looks once more, and waits
        before = engine.look_count
        await asyncio.sleep(0.05)
        return before, engine.look_count

    before, after = run_with_scheduler(IdleEngine(loaded, CachePool(2**26), max_running=4), body)
    assert before == after
