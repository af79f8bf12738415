import asyncio

import pytest

from tasks.serving.cpu.cache import CachePool
from tasks.serving.cpu.engine import GenerationRequest, ModelEngine
from tasks.serving.cpu.sampling import SamplingParameters
from tasks.serving.cpu.scheduler import Scheduler
from tests.tasks.serving.tiny import prompt_of


def request_of(max_tokens=5):
    return GenerationRequest(prompt_of(9), SamplingParameters(max_tokens, ignores_end=True))


def run_with_scheduler(loaded, body):
    """Run `body(scheduler, engine)` beside a running scheduler."""

    async def main():
        engine = ModelEngine(loaded, CachePool(2**26), max_running=4)
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

    assert [reply.completion_tokens for reply in run_with_scheduler(loaded, body)] == [3, 9, 6]


def test_a_caller_that_gives_up_takes_its_request_along(loaded):
    async def body(scheduler, engine):
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(scheduler.complete(loaded.name, request_of(900)), timeout=0.05)
        reply = await scheduler.complete(loaded.name, request_of(5))
        return reply.completion_tokens, engine.has_work

    assert run_with_scheduler(loaded, body) == (5, False)


def test_an_error_of_a_pass_reaches_every_caller(loaded):
    async def body(scheduler, _engine):
        # No such token: the embedding refuses it.
        broken = GenerationRequest([10_000], SamplingParameters(3))
        results = await asyncio.gather(
            scheduler.complete(loaded.name, broken),
            scheduler.complete(loaded.name, request_of()),
            return_exceptions=True,
        )
        return [str(result) for result in results]

    assert [message.split(":")[0] for message in run_with_scheduler(loaded, body)] == ["the engine stopped"] * 2


class FailingEngine(ModelEngine):
    """An engine that fails as soon as it has work, after something that happens in the same moment."""

    def __init__(self, loaded, before_failure):
        super().__init__(loaded, CachePool(2**20), max_running=1)
        self._before_failure = before_failure

    @property
    def has_work(self):
        self._before_failure()
        raise RuntimeError("no memory")


def test_an_error_reaches_those_who_wait_beside_one_who_gave_up_in_the_same_moment(loaded):
    async def main():
        def give_up():
            leaving.cancel()

        scheduler = Scheduler([FailingEngine(loaded, give_up)])
        leaving, waiting = (asyncio.create_task(scheduler.complete(loaded.name, request_of())) for _ in range(2))
        running = asyncio.create_task(scheduler.run())
        await asyncio.wait([leaving, running])
        await asyncio.sleep(0)  # the call that waits is told by now, and runs
        return leaving.cancelled(), waiting.done() and str(waiting.exception()), str(running.exception())

    assert asyncio.run(main()) == (True, "the engine stopped: no memory", "no memory")
