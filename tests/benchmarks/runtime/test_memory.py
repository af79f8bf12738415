"""Memory of a live episode: what each adds to a worker that has had one, in all of the worker's processes."""

import contest
import pytest

from carryover.tasks.runtime.process.memory import Holdings

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(900)]

IN_ONE_PROCESS_COUNT, KERNEL_COUNT = 40, 3
COUNTS = {
    "ours_persistent": IN_ONE_PROCESS_COUNT,
    "ours_stateless": IN_ONE_PROCESS_COUNT,
    "thread": IN_ONE_PROCESS_COUNT,
    "smolagents": IN_ONE_PROCESS_COUNT,
    "ipykernel": KERNEL_COUNT,
    "cave_agent": KERNEL_COUNT,
}
"""How many live episodes a worker has."""


def test_memory_of_a_live_episode(cave_python, table, keep_figure, tmp_path):
    mebibytes = {}
    for name, count in COUNTS.items():
        for worker in contest.start([name], cave_python, tmp_path).values():
            worker.ask("six_calls", contest.WARM_UP_COUNT)
            worker.seconds()
            worker.end_first_episode()
            before = Holdings().excess_bytes(worker.process, 0)
            worker.open_episodes(count)
            mebibytes[name] = (Holdings().excess_bytes(worker.process, 0) - before) / count / 2**20
            table.enter(name, "MiB per episode", f"{mebibytes[name]:.2f}")
            worker.close()
    table.leave_out("ipykernel_host_tools", "MiB per episode", "its kernel is ipykernel's")
    for name in ("ours_persistent", "ours_stateless"):
        share = mebibytes[name] / mebibytes["ipykernel"]
        keep_figure(f"memory of a live episode over an ipykernel's: {name}", share, at_most=1 / 15)
    assert mebibytes["ipykernel"]
