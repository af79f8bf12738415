"""What a question leaves its blocks for questions of their own."""

import asyncio
from typing import Any

import pytest

from carryover.tasks.cave.allowance import ALLOWANCE, Allowance, present_allowance
from carryover.tasks.runtime.inside.tools import ToolInvocationException, ToolRuntimeException

FIRST: Any = object()
SECOND: Any = object()


async def answer(text="Done."):
    return text


def run(play):
    return asyncio.run(play())


def test_an_inner_question_lies_deeper_and_ends_no_later():
    async def play():
        outer = Allowance(FIRST, 10.0, None)
        ALLOWANCE.set(outer)
        longer = Allowance(SECOND, 60.0, None)
        shorter = Allowance(SECOND, 1.0, None)
        assert (outer.depth, longer.depth) == (0, 1)
        assert longer.deadline == outer.deadline
        assert shorter.deadline < outer.deadline
        assert [outer.is_busy(each) for each in (FIRST, SECOND)] == [True, False]
        assert [longer.is_busy(each) for each in (FIRST, SECOND)] == [True, True]

    run(play)


def test_tokens_are_taken_once():
    async def play():
        allowance = Allowance(FIRST, 10.0, None)
        allowance.prompt_tokens, allowance.completion_tokens = 7, 3
        assert [allowance.take_tokens(), allowance.take_tokens()] == [(7, 3), (0, 0)]

    run(play)


@pytest.mark.parametrize(("spent", "is_refused"), [(9, False), (10, True)])
def test_a_question_is_refused_once_the_tokens_are_spent(spent, is_refused):
    async def play():
        allowance = Allowance(FIRST, 10.0, 10)
        allowance.prompt_tokens, allowance.completion_tokens = 5, spent - 5
        if not is_refused:
            assert await allowance.ask(answer()) == "Done."
            return
        with pytest.raises(ToolRuntimeException, match=r"^the 10 tokens of the question are spent$"):
            await allowance.ask(answer())

    run(play)


def test_two_hundred_questions_may_be_asked():
    async def play():
        allowance = Allowance(FIRST, 60.0, None)
        for _ in range(200):
            await allowance.ask(answer())
        with pytest.raises(ToolRuntimeException, match=r"^200 questions may be asked within a question$"):
            await allowance.ask(answer())

    run(play)


def test_questions_lie_four_deep_within_each_other():
    async def play():
        for depth in range(4):
            allowance = Allowance(FIRST, 60.0, None)
            assert allowance.depth == depth
            assert await allowance.ask(answer()) == "Done."
            ALLOWANCE.set(allowance)
        deepest = Allowance(FIRST, 60.0, None)
        assert deepest.depth == 4
        with pytest.raises(ToolRuntimeException, match=r"^questions may lie 4 deep within each other$"):
            await deepest.ask(answer())

    run(play)


def test_a_question_ends_with_the_time_or_its_own_question():
    async def play():
        spent = Allowance(FIRST, 0.01, None)
        with pytest.raises(ToolRuntimeException, match=r"^the question's time is spent$"):
            await spent.ask(asyncio.sleep(60))

        over = Allowance(FIRST, 60.0, None)
        asking = asyncio.ensure_future(over.ask(asyncio.sleep(60)))
        await asyncio.sleep(0)
        over.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        over.cancel()  # nothing is being asked

    run(play)


def test_only_a_running_block_can_ask():
    async def play():
        with pytest.raises(ToolInvocationException, match=r"^only a running block can ask$"):
            present_allowance()
        ALLOWANCE.set(Allowance(FIRST, 1.0, None))
        assert present_allowance() is ALLOWANCE.get()

    run(play)
