"""Processor time of a thousand tasks per arm with the oracle, and of the same blocks without the harness.

A hundred tasks are played and scaled; processor time says on a busy machine, too, whether two cores need ten minutes.
"""

import asyncio

import pytest

from carryover.tasks.cave.arms.arm import ARMS
from carryover.tasks.cave.arms.oracle import Oracle, script
from carryover.tasks.cave.arms.plan import SuitePlan
from carryover.tasks.cave.arms.play import CaseEpisode, Setting, play
from carryover.tasks.cave.suites.catalogue import suite_cases
from carryover.tasks.runtime.contract import CONTRACTS
from carryover.tasks.runtime.open import open_runtime
from carryover.tasks.services import background
from tests.flattening import flat

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(1800)]

PLAYED, SCALED_TO, AT_A_TIME = 100, 1000, 4
LIMIT_SECONDS = 1200
"""Ten minutes of two cores."""


@pytest.fixture(scope="module")
def cases():
    """Cases of three turns each, of five to twenty-five variables."""
    return flat(suite_cases("multi_variable", seed) for seed in range(PLAYED // 25))


@pytest.fixture
def runtime(request, processor_seconds):
    """An arm's runtime that has played an episode, so that its start does not count."""
    arm = request.node.callspec.params["arm"] if hasattr(request.node, "callspec") else "persistent_code"
    runtime = open_runtime(ARMS[arm].runtime_spec(SuitePlan().spec.runtime))
    play_bare(runtime, suite_cases("multi_variable", 0)[0])
    yield runtime
    runtime.close()


def play_bare(runtime, case):
    interpreter = runtime.open_interpreter(CONTRACTS["persistent"], {}, instance_id=case.case_id)
    for name, value in case.world.variables.items():
        interpreter.inject(name, value)
    for turn in case.turns:
        assert interpreter.run_block(turn.golden).error is None
    interpreter.close()


def play_with_oracle(cases, arm, runtime):
    setting = Setting(SuitePlan().spec, runtime, "run", "plan", "smoke")

    async def play_all():
        free = asyncio.Semaphore(AT_A_TIME)

        async def play_one(case):
            async with free:
                return await play(CaseEpisode(case, arm, 0), Oracle(script(case, ARMS[arm])), setting)

        return await asyncio.gather(*map(play_one, cases))

    played = background.wait_for(play_all())
    assert len(played) == len(cases)
    assert all(turn.is_passed for turn in flat(episode.turns for episode in played))


@pytest.mark.parametrize("arm", ARMS)
def test_a_thousand_tasks_take_at_most_ten_two_core_minutes(cases, arm, runtime, processor_seconds, keep_figure):
    before = processor_seconds()
    play_with_oracle(cases, arm, runtime)
    seconds = (processor_seconds() - before) * SCALED_TO / PLAYED
    what = f"CPU of {SCALED_TO:,} tasks of an oracle, scaled from {PLAYED}: {arm}"
    keep_figure(what, seconds, "s", at_most=LIMIT_SECONDS)
    assert seconds <= LIMIT_SECONDS


def test_the_same_blocks_without_the_harness(cases, runtime, processor_seconds, keep_figure):
    before = processor_seconds()
    for case in cases:
        play_bare(runtime, case)
    between = processor_seconds()
    play_with_oracle(cases, "persistent_code", runtime)
    bare, harness = between - before, processor_seconds() - 2 * between + before
    keep_figure("CPU of a task's bare blocks: persistent_code", 1000 * bare / PLAYED, "ms")
    assert bare > 0
    keep_figure("CPU of a task's harness beside its bare blocks: persistent_code", 1000 * harness / PLAYED, "ms")
