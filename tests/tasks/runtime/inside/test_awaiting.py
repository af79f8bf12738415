"""The event loop of a block's coroutines."""

import asyncio
from typing import Any

import pytest

from carryover.tasks.runtime.inside.awaiting import Awaiting


@pytest.fixture
def awaiting():
    made = Awaiting()
    yield made
    if made._loop is not None:
        made._loop.close()
    asyncio.set_event_loop(None)


async def one() -> int:
    await asyncio.sleep(0)
    return 1


def test_loop_lives_until_it_is_closed_or_forgotten(awaiting):
    assert awaiting.descriptors() == frozenset()
    awaiting.renew()
    assert awaiting.run(one()) == 1
    first = awaiting._loop
    assert asyncio.get_event_loop_policy().get_event_loop() is first
    assert awaiting.run(one()) == 1
    assert awaiting._loop is first
    assert awaiting.descriptors() == {first._ssock.fileno(), first._csock.fileno()}
    first.close()
    awaiting.renew()
    assert awaiting.descriptors() == frozenset()
    assert awaiting.run(one()) == 1
    second = awaiting._loop
    assert second is not first
    awaiting.forget()
    assert awaiting._loop is None
    second.close()


def test_error_of_a_coroutine_is_raised(awaiting):
    async def fail() -> None:
        raise KeyError("a")

    with pytest.raises(KeyError):
        awaiting.run(fail())
    assert awaiting.run(one()) == 1


def test_coroutine_that_is_interrupted_is_cancelled_to_its_end(awaiting):
    notes: list[str] = []

    def stop() -> None:
        raise KeyboardInterrupt

    async def wait() -> None:
        asyncio.get_running_loop().call_soon(stop)
        try:
            await asyncio.sleep(5)
        except asyncio.CancelledError:
            await asyncio.sleep(0)
            notes.append("cancelled")
            raise

    with pytest.raises(KeyboardInterrupt):
        awaiting.run(wait())
    assert notes == ["cancelled"]


def test_forked_process_has_a_pipe_of_its_own(awaiting):
    awaiting.run(one())
    loop: Any = awaiting._loop
    loop._default_executor = "threads of before"
    former = loop._ssock
    awaiting.renew()
    assert (former.fileno(), loop._default_executor) == (-1, None)
    assert awaiting.run(one()) == 1
