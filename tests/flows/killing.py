"""Find the processes of a study, kill one at a drawn moment, and see that the study completes all the same."""

import os
import random
import re
import signal
import subprocess
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import pytest

from carryover.storage.warehouse.reader import Warehouse
from carryover.tasks.runtime.process.descendants import descendants, parent
from tests.flows.conftest import EVALUATION_COUNT, TRAIN_COUNT
from tests.flows.processes import command_line
from tests.flows.test_resume import Progress

REPEATS = 5
THROUGHOUT = ("instances", "teacher_episodes", "verdicts", "trainings", "evaluation_episodes")
"""What has landed when a process that lives as long as the study is killed, repeat by repeat."""
COUNTS = """
select purpose, count(*), count(distinct (model_name, runtime_contract, instance_id, replicate))
from staging.plan_episodes where finish_reason <> 'error' group by purpose order by purpose"""


class Target(NamedTuple):
    """A process of a study, and when it is killed."""

    command: str
    """Regular expression that its command line begins with."""
    moments: tuple[str, ...]
    """What has landed before, repeat by repeat."""
    longest_pause: float = 3.0
    """Seconds of its life that are drawn from."""


TARGETS = {
    "worker": Target(r"\S+ -m prefect worker start", THROUGHOUT),
    "engine": Target(r"\S+ -m prefect\.engine", THROUGHOUT),
    "server": Target(r"\S+ -m prefect server start", THROUGHOUT),
    "training": Target(r"\S+ -m carryover\.tasks\.sft\.train_process", ("verdicts",) * REPEATS, 8.0),
    "model_server": Target(r"\S+ -m carryover\.tasks\.serving\.cpu_server", ("trainings",) * REPEATS, 8.0),
    "zygote": Target(r"\S*python\S* .*inside\.zygote", ("instances", "trainings") * REPEATS, 0.5),
    "merger": Target("", ("evaluation_episodes",) * REPEATS, 0.5),
}


def find(target: str, home: Path) -> list[int]:
    """Return the processes of a study that play a part."""
    if target == "merger":
        with suppress(FileNotFoundError):
            inode = (home / "warehouse.duckdb.lock").stat().st_ino
            locks = re.findall(rf"FLOCK +ADVISORY +WRITE (\d+) \w+:\w+:{inode} ", Path("/proc/locks").read_text())
            return [int(process) for process in locks]
        return []
    found = [one for one in descendants(os.getpid()) if re.match(TARGETS[target].command, command_line(one))]
    if target != "zygote":
        return found
    # A zygote's forks bear its command line; its parent alone is the sandbox.
    return [one for one in found if "bwrap" in command_line(parent(one)).partition(" ")[0]]


def wait_for(home: Path, moment: str, is_over: Callable[[], bool]) -> None:
    """Return when a study has landed what a field of its progress counts."""
    while not getattr(Progress.of(home), moment):
        assert not is_over(), f"the study ended before {moment}"
        time.sleep(0.3)


def kill(target: str, repeat: int, home: Path, is_over: Callable[[], bool], spared: Collection[int] = ()) -> None:
    """Kill a process of a running study at the repeat's moment; `spared` are of the test itself."""
    moment, draw = TARGETS[target].moments[repeat], random.Random(f"{target} {repeat}")
    pause = draw.uniform(0.0, TARGETS[target].longest_pause)
    wait_for(home, moment, is_over)
    while not is_over():
        with suppress(ProcessLookupError):
            if found := [one for one in find(target, home) if one not in spared]:
                time.sleep(pause)
                chosen = draw.choice(found)
                if chosen in find(target, home):
                    os.kill(chosen, signal.SIGKILL)
                    return
                pause /= 2  # it has ended meanwhile
        time.sleep(0.05)
    pytest.fail(f"the study ended before its {target} was killed")


def check_completed(home: Path) -> None:
    """Assert that every episode of the study is in the warehouse once, and every model."""
    with Warehouse.open(home / "warehouse.duckdb") as warehouse:
        counts = warehouse.sql(COUNTS).rows()
        repeated = warehouse.sql("select episode_id from episodes group by all having count(*) > 1").rows()
        trainings = warehouse.sql("select contract, count(*) from training_runs group by all order by all").rows()
    assert counts == [("evaluation", *(10 * EVALUATION_COUNT,) * 2), ("teacher", *(2 * TRAIN_COUNT,) * 2)]
    assert repeated == []
    assert trainings == [("persistent", 1), ("stateless", 1)]


def end(study: subprocess.Popen[str], log: Path) -> tuple[int, str]:
    """Wait for a study's command, and return its exit code and the end of what it said."""
    study.communicate()
    return study.returncode, log.read_text()[-8000:]
