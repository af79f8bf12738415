"""A thousand tasks per arm with the oracle, and the harness's own CPU beside the same blocks without it."""

import asyncio
import resource
import time

import pytest

from carryover.tasks.cave import background
from carryover.tasks.cave.arms.arm import ARMS
from carryover.tasks.cave.arms.oracle import Oracle, script
from carryover.tasks.cave.arms.plan import SuitePlan
from carryover.tasks.cave.arms.play import Place, Setting, play
from carryover.tasks.cave.suites.catalogue import suite_cases
from carryover.tasks.runtime.contract import CONTRACTS
from carryover.tasks.runtime.open import open_runtime

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(1800)]

TASKS, AT_A_TIME = 1000, 4
LIMIT_SECONDS = 600


@pytest.fixture(scope="module")
def cases():
    """A thousand cases of three turns each, of five to twenty-five variables."""
    return [case for seed in range(TASKS // 25) for case in suite_cases("multi_variable", seed)]


def cpu_seconds():
    own, children = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in (own, children))


@pytest.mark.parametrize("arm", ARMS)
def test_a_thousand_tasks_take_ten_minutes_at_most(cases, arm):
    spec = SuitePlan().spec
    started, before = time.perf_counter(), cpu_seconds()
    runtime = open_runtime(spec.runtime)
    setting = Setting(spec, runtime, "run", "plan", "smoke")

    async def play_all():
        free = asyncio.Semaphore(AT_A_TIME)

        async def play_one(case):
            async with free:
                return await play(Place(case, arm, 0), Oracle(script(case, ARMS[arm])), setting)

        return await asyncio.gather(*map(play_one, cases))

    played = background.wait_for(play_all())
    runtime.close()
    seconds, cpu = time.perf_counter() - started, cpu_seconds() - before
    assert all(turn.is_passed for episode in played for turn in episode.turns)
    print(f"\n{arm}: {TASKS} tasks in {seconds:.0f} s, {1000 * cpu / TASKS:.0f} ms of CPU a task")
    assert seconds <= LIMIT_SECONDS


def test_the_same_blocks_without_the_harness(cases):
    runtime, before = open_runtime(SuitePlan().spec.runtime), cpu_seconds()
    for case in cases:
        interpreter = runtime.open_interpreter(CONTRACTS["persistent"], {}, instance_id=case.case_id)
        for name, value in case.world.variables.items():
            interpreter.inject(name, value)
        for turn in case.turns:
            assert interpreter.run_block(turn.golden).error is None
        interpreter.close()
    runtime.close()
    print(f"\nbare blocks of persistent_code: {1000 * (cpu_seconds() - before) / TASKS:.0f} ms of CPU a task")
