"""Contenders that live side by side and are asked in turn, so that a busy machine disturbs all of them alike."""

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).parent
PYTHON = sys.executable
WARM_UP_COUNT = 20


class Cost(NamedTuple):
    """What steps of one workload cost a contender."""

    processor_microseconds: list[float]
    """Per step, one figure for each round."""
    milliseconds: list[float]
    """Latency of each step."""

    @property
    def microseconds(self) -> float:
        """Median over the rounds."""
        return statistics.median(self.processor_microseconds)

    def percentile(self, percent: int) -> float:
        """Latency in milliseconds that so many percent of the steps do not exceed."""
        return statistics.quantiles(self.milliseconds, n=100)[percent - 1]

    def ratio(self, other: "Cost") -> float:
        """Median over the rounds of this cost in units of another's in the same round."""
        pairs = zip(self.processor_microseconds, other.processor_microseconds, strict=True)
        return statistics.median(mine / others for mine, others in pairs)


class Contender:
    """A started contender."""

    def __init__(self, name: str, python: str, folder: Path) -> None:
        folder.mkdir(parents=True)
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(FOLDER)}
        command = [python, str(FOLDER / "contenders.py"), name]
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
            cwd=folder,  # kernels put their sockets here
        )
        self.start_seconds: float = self._answer()
        self.start_processor_seconds = 0.0
        """For whoever has a clock of it to note."""

    @property
    def process(self) -> int:
        """Number of the worker's process, from which all its others descend."""
        return self._process.pid

    def ask(self, workload: str, step_count: int, pause_seconds: float = 0) -> None:
        """Begin to run a workload so many times."""
        self._send(["run", workload, step_count, pause_seconds])

    def end_first_episode(self) -> None:
        """Leave the worker without a live episode."""
        self._send(["end"])
        self._answer()

    def open_episodes(self, count: int) -> None:
        """Open so many episodes, which stay live, and let each run a few blocks."""
        self._send(["open", count])
        self._answer()

    def seconds(self) -> list[float]:
        """Wait for what was asked for, and return the seconds of each step."""
        return self._answer()

    def close(self) -> None:
        """End it."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(timeout=60)

    def _send(self, request: list) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()

    def _answer(self):
        assert self._process.stdout is not None
        while line := self._process.stdout.readline():
            if line.startswith(("[", *"0123456789")):
                return json.loads(line)
        raise AssertionError(f"{self._process.args} ended")


def start(names: Iterable[str], cave_python: str | None, folder: Path) -> dict[str, Contender]:
    """Start contenders by name; those that need an environment of their own are left out where there is none."""
    pythons = {"smolagents": cave_python, "cave_agent": cave_python}
    chosen = {name: pythons.get(name, PYTHON) for name in names}
    return {name: Contender(name, python, folder / name) for name, python in chosen.items() if python is not None}


def compare(
    contenders: dict[str, Contender],
    workload: str,
    clock: Callable[[], float],
    *,
    round_count: int,
    step_count: int,
    pause_seconds: float = 0,
) -> dict[str, Cost]:
    """Let each contender run a workload in turn, round after round."""
    costs = {name: Cost([], []) for name in contenders}
    for contender in contenders.values():
        contender.ask(workload, WARM_UP_COUNT)
        contender.seconds()
    for _ in range(round_count):
        for name, contender in contenders.items():
            before = clock()
            contender.ask(workload, step_count, pause_seconds)
            seconds = contender.seconds()
            costs[name].processor_microseconds.append((clock() - before) / step_count * 1e6)
            costs[name].milliseconds.extend(1e3 * each for each in seconds)
    return costs
