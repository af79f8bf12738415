import asyncio
import threading

from carryover.tasks.agent.client import EndpointClientSpec, EpisodeSlots, ScriptedClientSpec
from carryover.tasks.agent.episode_spec import EndpointSpec


async def hold(slots, *, until, began=None):
    async with slots:
        if began is not None:
            began.set()
        await until.wait()


def test_a_place_is_handed_over_in_the_order_of_asking():
    async def play():
        slots, entered = EpisodeSlots(1), []

        async def enter(name):
            async with slots:
                entered.append(name)
                await asyncio.sleep(0)

        await asyncio.gather(*map(enter, "abcd"))
        return entered

    assert asyncio.run(play()) == list("abcd")


def test_event_loops_of_several_threads_share_the_slots():
    slots, inside, most, lock = EpisodeSlots(2), 0, 0, threading.Lock()

    async def enter():
        nonlocal inside, most
        async with slots:
            with lock:
                inside += 1
                most = max(most, inside)
            await asyncio.sleep(0.001)
            with lock:
                inside -= 1

    async def enter_often():
        await asyncio.gather(*(enter() for _ in range(20)))

    threads = [threading.Thread(target=asyncio.run, args=(enter_often(),)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert (inside, most) == (0, 2)


async def hold_one_and_ask_twice(slots, end):
    """Return the tasks: the first holds the only place, the others wait for it in turn."""
    began = asyncio.Event()
    first = asyncio.create_task(hold(slots, until=end, began=began))
    await began.wait()
    others = [asyncio.create_task(hold(slots, until=end)) for _ in range(2)]
    await asyncio.sleep(0)
    return first, *others


def test_a_slot_that_comes_free_is_one_slot():
    async def play():
        slots, end, began = EpisodeSlots(1), asyncio.Event(), asyncio.Event()
        async with slots:
            pass
        first = asyncio.create_task(hold(slots, until=end))
        second = asyncio.create_task(hold(slots, until=end, began=began))
        for _ in range(5):
            await asyncio.sleep(0)
        is_waiting = not began.is_set()
        end.set()
        await asyncio.gather(first, second)
        return is_waiting

    assert asyncio.run(play())


def test_who_is_cancelled_while_waiting_leaves_the_queue():
    async def play():
        end = asyncio.Event()
        first, second, third = await hold_one_and_ask_twice(EpisodeSlots(1), end)
        second.cancel()
        end.set()
        await asyncio.wait_for(asyncio.gather(first, third), 60)
        return second.cancelled()

    assert asyncio.run(play())


def test_task_cancelled_in_its_turn_hands_the_slot_over():
    async def play():
        slots, end = EpisodeSlots(1), asyncio.Event()
        first, second, third = await hold_one_and_ask_twice(slots, end)
        end.set()
        await first  # its place is the second's now, which has not run since
        second.cancel()
        await asyncio.wait_for(third, 60)
        await asyncio.wait_for(hold(slots, until=end), 60)

    asyncio.run(play())


def test_what_is_played_on_one_endpoint_shares_its_slots():
    def slots(port):
        return EndpointClientSpec(endpoint=EndpointSpec(base_url=f"http://127.0.0.1:{port}/v1", concurrency=3)).slots()

    assert slots(9) is slots(9)
    assert slots(9) is not slots(8)
    assert (slots(9).count, ScriptedClientSpec().slots().count) == (3, ScriptedClientSpec().concurrency)
    assert ScriptedClientSpec().slots() is not ScriptedClientSpec().slots()
