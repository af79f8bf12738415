"""The order in which agents use one interpreter."""

import asyncio
import contextvars
import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest

from carryover.tasks.agent.events import Acted
from carryover.tasks.agent.runtime_stream import RuntimeStream, run_verified
from carryover.tasks.runtime.engine import BusyError, StateLostError
from carryover.tasks.runtime.results import BlockResult

INTERPRETER: Any = SimpleNamespace()
asking = contextvars.ContextVar("asking", default="nobody")


def test_a_block_runs_unverified_once_the_state_is_lost():
    def lose() -> bool:
        raise StateLostError("the process has ended")

    result = BlockResult(output="1")
    interpreter: Any = SimpleNamespace(verify_contract=lose, run_block=lambda code: result)
    acted = run_verified(interpreter, "x")
    assert (acted.code, acted.result, acted.is_verified) == ("x", result, False)
    interpreter.verify_contract = lambda: True
    assert run_verified(interpreter, "x").is_verified


class NotedThreads(ThreadPoolExecutor):
    """Notes how many blocks were begun."""

    begun = 0

    def submit(self, *work, **options):
        self.begun += 1
        return super().submit(*work, **options)


class Blocks:
    """Runs blocks that end when they may, and notes who asked for them."""

    def __init__(self):
        self.may_end = threading.Event()
        self.ran = []

    def run(self, interpreter, code):
        assert interpreter is INTERPRETER
        assert self.may_end.wait(60)
        self.ran.append((code, asking.get()))
        if code == "fail":
            raise OSError("no space left")
        return Acted(code, BlockResult(), is_verified=True)


async def let_others_go_on():
    for _ in range(5):
        await asyncio.sleep(0)


def test_a_block_waits_for_those_before_it():
    blocks = Blocks()

    async def play():
        with NotedThreads(2) as threads:
            stream = RuntimeStream(INTERPRETER, threads)
            assert stream.idle is INTERPRETER
            asking.set("first")
            first = asyncio.create_task(stream.run("x = 1", blocks.run))
            asking.set("second")
            second = asyncio.create_task(stream.run("x = 2", blocks.run))
            settled = asyncio.create_task(stream.settle())
            await let_others_go_on()
            assert (threads.begun, settled.done()) == (1, False)
            with pytest.raises(BusyError, match=r"^a block is running; inject and retrieve before the question or "):
                _ = stream.idle
            blocks.may_end.set()
            acted = [await first, await second]
            await settled
            assert stream.idle is INTERPRETER
            return acted

    assert [acted.code for acted in asyncio.run(play())] == ["x = 1", "x = 2"]
    assert blocks.ran == [("x = 1", "first"), ("x = 2", "second")]


@pytest.mark.parametrize("code", ["x = 1", "fail"])
def test_a_block_whose_asker_left_goes_on_to_its_end(code):
    blocks = Blocks()

    async def play():
        with NotedThreads(2) as threads:
            stream = RuntimeStream(INTERPRETER, threads)
            left = asyncio.create_task(stream.run(code, blocks.run))
            await let_others_go_on()
            left.cancel()
            with pytest.raises(asyncio.CancelledError):
                await left
            with pytest.raises(BusyError):
                _ = stream.idle
            blocks.may_end.set()
            await stream.settle()
            assert stream.idle is INTERPRETER

    asyncio.run(play())
    assert blocks.ran == [(code, "nobody")]


def test_a_blocks_error_is_raised_where_it_was_asked_for():
    blocks = Blocks()
    blocks.may_end.set()
    with pytest.raises(OSError, match="no space left"):
        asyncio.run(RuntimeStream(INTERPRETER).run("fail", blocks.run))
