"""What an agent's objects, long conversations and branches cost."""

import base64
import contextlib
import gc
import os
import time
from collections.abc import Iterator
from pathlib import Path

import dill
import numpy as np
import pandas as pd
import pytest
from jupyter_client.manager import start_new_kernel

from carryover.tasks.cave.agent import Agent
from carryover.tasks.cave.agent_spec import AgentSpec
from carryover.tasks.cave.scripted import block, scripted_by
from carryover.tasks.runtime.process.descendants import descendants

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(900)]

COLUMNS = 10
FRAME_BYTES = 100 * 2**20
ROUNDS = 3
USED = 200
"""Branches that run a block."""
MIME = "application/x-dill"
BARE_FORKS = """
import os, time
before, forked = time.process_time(), 0
for _ in range(100):
    if not (child := os.fork()):
        time.sleep(600)
    forked += time.process_time() - before
    os.kill(child, 9)
    os.waitpid(child, 0)
    before = time.process_time()
print(10 * forked)
"""
"""What the kernel takes to copy a process that has imported pandas, without all that makes a branch of the copy."""


@pytest.fixture
def frame() -> pd.DataFrame:
    """A frame of 100 MiB."""
    rows = FRAME_BYTES // 8 // COLUMNS
    values = np.random.default_rng(0).random((rows, COLUMNS))
    return pd.DataFrame(values, columns=[f"column_{number}" for number in range(COLUMNS)])


@pytest.fixture
def agent() -> Iterator[Agent]:
    """An agent with room for large objects and many branches."""
    spec = AgentSpec(max_steps=10_000)
    runtime = spec.runtime.model_copy(update={"process_limit": 5000})
    with Agent(
        scripted_by(reply), spec=spec.model_copy(update={"runtime": runtime, "context_window": 16_000})
    ) as agent:
        yield agent


def reply(messages) -> str:
    """Run one block per question, then answer; summarize when asked to."""
    if "Write a summary that replaces it" in messages[-1].content:
        return "Numbers were added to total."
    return "Added." if "<output>" in messages[-1].content else block("total = total + 1\nprint(total, 'x' * 300)")


class DillKernel:
    """What CaveAgent's kernel runtime does: dill and base64 in code, and display data on the way back."""

    def __init__(self) -> None:
        self._manager, self._client = start_new_kernel()
        self._run("import base64, dill; from IPython.display import publish_display_data")

    def inject(self, name: str, value: object) -> None:
        self._run(f"{name} = dill.loads(base64.b64decode({base64.b64encode(dill.dumps(value)).decode()!r}))")

    def retrieve(self, name: str) -> object:
        found: list[str] = []
        code = f"publish_display_data({{'{MIME}': base64.b64encode(dill.dumps({name})).decode()}})"
        self._run(code, lambda message: found.extend(message["content"].get("data", {}).values()))
        return dill.loads(base64.b64decode(found[0]))

    def close(self) -> None:
        self._client.stop_channels()
        self._manager.shutdown_kernel(now=True)

    def _run(self, code: str, hook=lambda _message: None) -> None:
        answer = self._client.execute_interactive(code, output_hook=hook, timeout=300)
        assert answer["content"]["status"] == "ok"


@contextlib.contextmanager
def timed(seconds: list[float]) -> Iterator[None]:
    gc.collect()
    start = time.perf_counter()
    yield
    seconds.append(time.perf_counter() - start)


def test_large_frame_goes_in_and_out_faster_than_by_dill(agent, frame, keep_figure):
    kernel = DillKernel()
    ours: list[float] = []
    theirs: list[float] = []
    agent.inject("warm", frame.head())
    kernel.inject("warm", frame.head())
    for _ in range(ROUNDS):
        with timed(ours):
            agent.inject("frame", frame)
            back = agent.retrieve("frame")
        with timed(theirs):
            kernel.inject("frame", frame)
            kernel.retrieve("frame")
        pd.testing.assert_frame_equal(back, frame)
    kernel.close()
    ratio = sorted(theirs[n] / ours[n] for n in range(ROUNDS))[ROUNDS // 2]
    keep_figure("frame of 100 MiB in and out, speed over dill through an ipykernel", ratio, "times", at_least=5)
    assert ratio > 1


def test_a_frame_passes_without_a_second_host_copy(agent, frame, keep_figure):
    agent.inject("warm", frame.head())
    agent.retrieve("warm")
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
    before = memory("VmRSS")
    agent.inject("frame", frame)
    back = agent.retrieve("frame")
    beyond = (memory("VmHWM") - before - FRAME_BYTES) / FRAME_BYTES
    pd.testing.assert_frame_equal(back, frame)
    keep_figure("host memory beyond both frames, over one frame", beyond, at_most=0.2)
    assert beyond <= 0.2


def memory(name: str) -> int:
    """Return bytes of resident memory of this process: present (`VmRSS`) or peak (`VmHWM`)."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))


def test_turn_costs_the_same_in_a_conversation_of_a_thousand(agent, processor_seconds, keep_figure):
    agent.inject("total", 0)
    costs = []
    for _ in range(10):
        before = processor_seconds()
        for _ in range(50):
            assert agent.ask("Add one.").text == "Added."
        costs.append((processor_seconds() - before) / 50 * 1e3)
    growth = sorted(costs[-4:])[1] / sorted(costs[1:5])[1]
    keep_figure("CPU of a question in a conversation of 1,000 turns, the last over the first", growth, at_most=1.3)
    assert agent.retrieve("total") == 500
    assert growth < 1.3


def test_thousand_branches_of_a_state_with_a_large_frame(agent, processor_seconds, keep_figure):
    """An unused branch has no process; its first block costs two forks: its process, and the copy to go back to."""
    rows = FRAME_BYTES // 8 // COLUMNS
    made = agent.runtime.interpreter.run_block(
        f"import numpy, pandas\nframe = pandas.DataFrame(numpy.ones(({rows}, {COLUMNS})))"
    )
    assert made.error is None
    floor = agent.runtime.interpreter.run_block(BARE_FORKS)
    before, start = processor_seconds(), time.perf_counter()
    branches = agent.branch(1000)
    seconds, processor = time.perf_counter() - start, processor_seconds() - before
    known = set(descendants(os.getpid()))
    before = processor_seconds()
    for branch in branches[:USED]:
        assert branch.runtime.interpreter.run_block("len(frame)").result == str(rows)
    used = (processor_seconds() - before) * len(branches) / USED
    owned = sum(map(private_bytes, set(descendants(os.getpid())) - known)) / USED
    keep_figure("1,000 branches of a state with a 100 MiB frame, none used yet", seconds, "s", at_most=3)
    keep_figure("1,000 branches of a state with a 100 MiB frame, none used yet, CPU", processor, "s", at_most=3)
    keep_figure("1,000 branches with one block in each, CPU, measured on 200", used, "s", at_most=3)
    keep_figure("1,000 bare forks of that process, CPU", float(floor.output), "s")
    keep_figure("private memory of a branch that ran a block, its copy included", owned / 2**20, "MiB", at_most=2)
    for branch in branches:
        branch.close()
    assert seconds < 3


def private_bytes(process: int) -> int:
    """Return the bytes that a process shares with no other."""
    lines = Path(f"/proc/{process}/smaps_rollup").read_text(encoding="ascii").splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Private_")) * 1024
