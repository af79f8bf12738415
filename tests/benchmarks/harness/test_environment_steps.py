"""What a trainer's step costs beside the block that it runs, and what a live episode holds.

    pytest -m benchmark tests/benchmarks/harness/test_environment_steps.py -s

The blocks of a scripted policy are replayed, so that the policy costs nothing on either side.
"""

import json
import os
import subprocess
import time
from collections import defaultdict

import pytest

from carryover.tasks.environment.block_environment import BlockEnvironment
from carryover.tasks.runtime.open import open_runtime
from carryover.tasks.runtime.process.descendants import descendants
from carryover.tasks.runtime.runtime_spec import RuntimeSpec
from tests.tasks.probe.foreign_environments import provide_runtime

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(1800)]

EPISODES = 60
ROUNDS = 3
"""Everything is measured in turn so often, and the best counts."""
GOAL = 1.5
"""Most processor time of an environment's step, over that of the bare step."""
LIVE_EPISODES = 256
STEPS = 300
OPENENV = """
import json, time
from openenv.core.tools.local_python_executor import PyExecutor
executor = PyExecutor()
executor.run("x = 0")
started = time.process_time()
for step in range({steps}):
    executor.run(f"x = {{step}}\\nprint(x)")
print(json.dumps(time.process_time() - started))
"""
"""The executor of OpenEnv's coding environment, in its process and without a sandbox."""


@pytest.mark.parametrize("contract", ["persistent", "stateless"])
def test_processor_time_of_a_step_beside_bare_steps(contract, tmp_path, playing, processor_seconds, keep_figure):
    runtime = open_runtime(RuntimeSpec())
    instances = playing.make_instances(EPISODES)
    blocks = playing.record_blocks(runtime, instances, contract, tmp_path)
    steps = sum(map(len, blocks.values()))
    environment = BlockEnvironment("knapsack", contract, bucket="easy", runtime=runtime)

    def step_through():
        for instance in instances:
            environment.reset(seed=instance.seed)
            for code in blocks[instance.instance_id]:
                environment.run_block(code)
            assert environment.is_over
            assert environment.get_reward() > 0

    work = {"bare": lambda: playing.run_bare(runtime, instances, contract, blocks), "environment": step_through}
    spent = defaultdict(list)
    passed = defaultdict(list)
    for _ in range(ROUNDS):
        for name, run in work.items():
            processor, wall = processor_seconds(), time.perf_counter()
            run()
            spent[name].append(processor_seconds() - processor)
            passed[name].append(time.perf_counter() - wall)
    environment.close()
    runtime.close()
    best = {name: min(seconds) for name, seconds in spent.items()}
    for name, seconds in best.items():
        keep_figure(f"steps per second and core, {contract}: {name}", steps / seconds)
        keep_figure(f"steps per second, {contract}: {name}", steps / min(passed[name]))
    ratio = best["environment"] / best["bare"]
    keep_figure(f"CPU of an environment's step over the bare step, {contract}", ratio, at_most=GOAL)
    assert ratio <= GOAL


def test_processor_time_of_a_trivial_step_beside_openenv(processor_seconds, keep_figure):
    python = provide_runtime("openenv") / "python"
    script = OPENENV.format(steps=STEPS)
    done = subprocess.run([python, "-c", script], capture_output=True, text=True, timeout=600, check=True)
    theirs = json.loads(done.stdout.splitlines()[-1])
    environment = BlockEnvironment("knapsack", "persistent", max_turns=STEPS + 2)
    environment.reset(seed=0)
    environment.run_block("x = 0")
    started = processor_seconds()
    for step in range(STEPS):
        environment.run_block(f"x = {step}\nprint(x)")
    ours = processor_seconds() - started
    assert not environment.is_over
    environment.close()
    keep_figure("steps per second and core, trivial: environment, sandboxed", STEPS / ours)
    keep_figure("steps per second and core, trivial: OpenEnv's executor, in its process", STEPS / theirs)


def test_memory_of_live_episodes_in_one_worker(measuring, keep_figure):
    runtime = open_runtime(RuntimeSpec())
    opened = [BlockEnvironment("knapsack", "persistent", runtime=runtime) for _ in range(LIVE_EPISODES + 1)]
    first, *others = opened
    first.reset(seed=0)
    first.run_block("kept = 0")
    before = measuring.proportional_bytes([os.getpid(), *descendants(os.getpid())])
    for seed, environment in enumerate(others, 1):
        environment.reset(seed=seed)
        environment.run_block(f"kept = {seed}")
    held = measuring.proportional_bytes([os.getpid(), *descendants(os.getpid())]) - before
    for seed, environment in enumerate(opened):
        assert json.loads(environment.run_block("print(kept)"))["output"] == str(seed)
    for environment in opened:
        environment.close()
    runtime.close()
    keep_figure(f"memory of {LIVE_EPISODES} live episodes in one worker", held / 2**20, "MiB")
    keep_figure("memory of each of them", held / LIVE_EPISODES / 2**20, "MiB")
