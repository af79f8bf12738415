"""A study whose processes are killed with SIGKILL, or whose disk is full, completes: every episode once, no stray.

pytest -m long tests/flows/test_kills.py [-k "zygote and 0"]
"""

import ctypes
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import pytest
from prefect.client.orchestration import get_client
from prefect.settings import PREFECT_API_URL, temporary_settings

from carryover.storage.warehouse.reader import Warehouse
from carryover.tasks.runtime.process.descendants import descendants, parent
from tests.flows.conftest import EVALUATION_COUNT, STUDY, TRAIN_COUNT
from tests.flows.flow_process import ROOT, start_flow
from tests.flows.test_resume import Progress

pytestmark = [pytest.mark.long, pytest.mark.slow, pytest.mark.prefect, pytest.mark.timeout(1800)]

REPEATS = 5
THROUGHOUT = ("instances", "teacher_episodes", "verdicts", "trainings", "evaluation_episodes")
"""What has landed when a process that lives as long as the study is killed, repeat by repeat."""
STRAY_SECONDS = 120.0
"""How long processes may take to notice that who started them is gone."""
SET_CHILD_SUBREAPER = 36
"""PR_SET_CHILD_SUBREAPER of Linux's prctl(2)."""
DISK_BYTES, ROOM_BYTES = 512 << 20, 64 << 10
"""Of a disk that takes a study, and what is left of it when it becomes full."""
PARAMETERS = {"scale": "smoke", "overrides": {"train_count": TRAIN_COUNT, "evaluation_count": EVALUATION_COUNT}}
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


@pytest.fixture
def strays(tmp_path, monkeypatch) -> Iterator[Callable[[], set[str]]]:
    """Command lines of processes that a test started and that do not end, and sockets in the folder for such.

    Who loses its parent becomes a child of the process that tests, and so is seen.
    """
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    before = set(descendants(os.getpid()))
    ctypes.CDLL(None).prctl(SET_CHILD_SUBREAPER, 1)

    def left() -> set[str]:
        deadline = time.monotonic() + STRAY_SECONDS
        while (living := alive(before)) and time.monotonic() < deadline:
            time.sleep(0.2)
        sockets = {str(path) for path in tmp_path.rglob("*") if path.is_socket()}
        return sockets | {command_line(process) for process in living}

    yield left
    for process in alive(before):
        os.kill(process, signal.SIGKILL)
    ctypes.CDLL(None).prctl(SET_CHILD_SUBREAPER, 0)


def alive(before: set[int]) -> set[int]:
    """Return the processes under this one that are neither old nor dead, and forget the dead."""
    living = set()
    for process in set(descendants(os.getpid())) - before:
        if command_line(process):
            living.add(process)
        else:
            with suppress(ChildProcessError):
                os.waitpid(process, os.WNOHANG)
    return living


def command_line(process: int) -> str:
    """Return a process's command line, nothing when it has ended."""
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes().replace(b"\0", b" ").decode().strip()
    except OSError:
        return ""


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
    return [
        one for one in found if "bwrap" in command_line(parent(one)).partition(" ")[0]
    ]  # its forks bear its command line


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
    assert counts == [("evaluation", *(8 * EVALUATION_COUNT,) * 2), ("teacher", *(2 * TRAIN_COUNT,) * 2)]
    assert repeated == []
    assert trainings == [("persistent", 1), ("stateless", 1)]


def end(study: subprocess.Popen[str], log: Path) -> tuple[int, str]:
    """Wait for a study's command, and return its exit code and the end of what it said."""
    study.communicate()
    return study.returncode, log.read_text()[-8000:]


@pytest.mark.parametrize("repeat", range(REPEATS))
@pytest.mark.parametrize("target", [name for name in TARGETS if name not in ("worker", "engine")])
def test_a_study_whose_process_is_killed_completes(target, repeat, tmp_path, strays, prefect_api):
    home, log = tmp_path / "data", tmp_path / "said.txt"
    server = None if target == "server" else prefect_api
    spared = find(target, home)
    with log.open("a") as said:
        study = start_flow(home, "run", *STUDY, server=server, stderr=said)
        kill(target, repeat, home, lambda: study.poll() is not None, spared)
        code, words = end(study, log)
        assert "Traceback" not in words, words
        print(f"{target} {repeat}: exit code {code}")
        assert strays() == set()
        code, words = end(start_flow(home, "run", *STUDY, server=server, stderr=said), log)
    assert code == 0, words
    assert strays() == set()
    check_completed(home)


@pytest.fixture
def deployed(prefect_api, tmp_path, monkeypatch) -> str:
    """The study as a deployment; return its id."""
    monkeypatch.setenv("PREFECT_API_URL", prefect_api)
    monkeypatch.setenv("PREFECT_HOME", str(tmp_path / "prefect"))
    monkeypatch.setenv("CARRYOVER_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("CARRYOVER_ROOT", str(ROOT))
    monkeypatch.setenv("DO_NOT_TRACK", "1")
    for command in (
        ("work-pool", "create", "cpu", "--type", "process", "--overwrite"),
        ("--no-prompt", "deploy", "--prefect-file", "deployments/prefect.yaml", "--name", "study"),
    ):
        done = subprocess.run(
            [sys.executable, "-m", "prefect", *command], cwd=ROOT, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
    with temporary_settings({PREFECT_API_URL: prefect_api}), get_client(sync_client=True) as client:
        return str(client.read_deployment_by_name("reproduce-study/study").id)


@contextmanager
def worker(log: Path) -> Iterator[subprocess.Popen[str]]:
    """Start a worker as a person does, without a supervisor that would end its flows with it."""
    command = [sys.executable, "-m", "prefect", "worker", "start", "--pool", "cpu"]
    with log.open("a") as said, subprocess.Popen(command, cwd=ROOT, stdout=said, stderr=said, text=True) as process:
        try:
            yield process
        finally:
            process.terminate()


@pytest.mark.parametrize("repeat", range(REPEATS))
@pytest.mark.parametrize("target", ["worker", "engine"])
def test_killed_deployment_run_completes_on_restart(target, repeat, tmp_path, strays, *, prefect_api, deployed):
    home, log = tmp_path / "data", tmp_path / "worker.log"
    with temporary_settings({PREFECT_API_URL: prefect_api}), get_client(sync_client=True) as client:

        def start():
            return client.create_flow_run_from_deployment(deployed, parameters=PARAMETERS).id

        def state(run):
            found = client.read_flow_run(run).state
            assert found is not None
            return found

        first = start()
        with worker(log) as process:
            kill(target, repeat, home, lambda: state(first).is_final())
            if target == "engine":
                while not state(first).is_final():
                    assert process.poll() is None
                    time.sleep(0.5)
                assert state(first).is_crashed(), state(first)
        while find("engine", home):  # that of a killed worker goes on, and ends by itself
            time.sleep(0.5)
        assert strays() == set()
        print(f"{target} {repeat}: {state(first)!r}")
        again = start()
        with worker(log) as process:
            while not state(again).is_final():
                assert process.poll() is None
                time.sleep(0.5)
        assert state(again).is_completed(), log.read_text()[-8000:]
    assert strays() == set()
    check_completed(home)


@pytest.fixture
def small_disk(tmp_path) -> Iterator[Path]:
    """A small file system of its own."""
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "carryover", str(disk)], check=True)
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def resize(disk: Path, size: int) -> bool:
    """Give a file system another size; tell whether that is not less than it holds."""
    done = subprocess.run(["mount", "-o", f"remount,size={size}", str(disk)], capture_output=True, check=False)
    return done.returncode == 0


def fill(disk: Path) -> None:
    """Leave a file system next to no room."""
    while not resize(disk, shutil.disk_usage(disk).used + ROOM_BYTES):
        pass


@pytest.mark.parametrize("repeat", range(REPEATS))
def test_study_on_a_full_disk_completes_once_freed(repeat, tmp_path, small_disk, strays):
    """With the database of its own Prefect server on the same disk."""
    home, log = small_disk / "data", tmp_path / "said.txt"
    with log.open("a") as said:
        study = start_flow(home, "run", *STUDY, stderr=said)
        wait_for(home, THROUGHOUT[repeat], lambda: study.poll() is not None)
        fill(small_disk)
        code, words = end(study, log)
        print(f"full disk {repeat}: exit code {code}\n{words[-1500:]}")
        assert code != 0, words
        assert "Traceback" not in words, words
        assert strays() == set()
        assert resize(small_disk, DISK_BYTES)
        code, words = end(start_flow(home, "run", *STUDY, stderr=said), log)
    assert code == 0, words
    assert strays() == set()
    check_completed(home)
