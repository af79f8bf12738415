"""`make up` and `make down`: a server and workers in the background of one machine, and none of them afterwards."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest

from carryover.tasks.serving.process import find_free_port
from tests.flows.flow_process import ROOT

INSTALLED = f"{sys.prefix}/.installed"
DEPLOY = f"make --no-print-directory --old-file={INSTALLED} VENV={sys.prefix} deploy"
LASTING = "sleep 60 & wait"
STAND_INS = {"python": "exit 0", "prefect": LASTING, "carryover": LASTING, "nvidia-smi": r"printf '0\n1\n'"}
"""Programs that last as a server and workers do, on a machine of two GPUs."""


class Machine(NamedTuple):
    """The script of both targets, with an environment of its own."""

    call: Callable[..., subprocess.CompletedProcess[str]]
    port: str

    @property
    def api(self):
        return f"http://127.0.0.1:{self.port}/api"

    def __call__(self, action, **changed):
        return self.call(action, **changed)


@pytest.fixture
def machine(tmp_path):
    """Calls the script of both targets, with the environment that the tests run in taken for installed."""
    port = str(find_free_port())
    environment = {name: value for name, value in os.environ.items() if name != "PREFECT_API_URL"} | {
        "BIN": str(Path(sys.executable).parent),
        "DEPLOY": DEPLOY,
        "PREFECT_PORT": port,
        "PREFECT_HOME": str(tmp_path / "prefect"),
        "CARRYOVER_HOME": str(tmp_path / "data"),
    }

    def call(action, **changed):
        command = ["sh", "deployments/machine.sh", action]
        return subprocess.run(command, cwd=ROOT, env=environment | changed, capture_output=True, text=True, check=False)

    yield Machine(call, port)
    call("down")


@pytest.fixture
def stand_ins(tmp_path):
    """The environment in which the script calls programs that only last."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name, line in STAND_INS.items():
        (folder / name).write_text(f"#!/bin/sh\n{line}\n")
        (folder / name).chmod(0o755)
    return {"BIN": str(folder), "DEPLOY": "true", "PATH": f"{folder}:{os.environ['PATH']}"}


def is_alive(group):
    """Tell whether a process of the group is no zombie."""
    return count_alive(group) > 0


def count_alive(group):
    count = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has ended meanwhile
            state, _, process_group, *_ = stat.read_text().rpartition(")")[2].split()
            count += state != "Z" and int(process_group) == group
    return count


def check_up_and_down(machine, folder, **changed):
    """Assert that a machine comes up once and goes down, and return what `up` started."""
    done = machine("up", **changed)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1].startswith(f"ready: export PREFECT_API_URL={machine.api};")
    groups = {file.stem: int(file.read_text().split()[0]) for file in folder.glob("*.pid")}
    again = machine("up", **changed)
    assert again.stdout.splitlines()[:-1] == [f"{name} is running" for name in ("server", *sorted(groups)[:-1])]
    down = machine("down")
    assert down.stdout.splitlines() == [f"{name} is stopped" for name in sorted(groups)]  # the server last
    assert not any(map(is_alive, groups.values()))
    return set(groups)


def test_every_gpu_gets_a_worker_and_down_leaves_no_process(machine, stand_ins, tmp_path):
    started = check_up_and_down(machine, tmp_path / "data" / "machine", **stand_ins)
    assert started == {"server", "cpu", "gpu0", "gpu1"}


@pytest.fixture
def stranger():
    """A process of somebody else's, the leader of its group."""
    with subprocess.Popen(["sleep", "60"], process_group=0) as process:
        yield process
        process.kill()


@pytest.mark.parametrize("mark", ["", " 0b6b5a43-8d4c-4ec2-9df5-2b8f0f4d8f5d"])
def test_stale_id_of_a_stranger_is_neither_running_nor_ended(machine, stand_ins, stranger, tmp_path, mark):
    folder = tmp_path / "data" / "machine"
    folder.mkdir(parents=True)
    (folder / "cpu.pid").write_text(f"{stranger.pid}{mark}\n")
    assert machine("down").stdout == "cpu had ended\n"
    assert stranger.poll() is None

    (folder / "cpu.pid").write_text(f"{stranger.pid}{mark}\n")
    assert "cpu is started" in machine("up", **stand_ins).stdout
    machine("down")
    assert stranger.poll() is None


def test_down_ends_what_a_killed_worker_left(machine, stand_ins, tmp_path):
    machine("up", **stand_ins)
    leader = int((tmp_path / "data" / "machine" / "cpu.pid").read_text().split()[0])
    while count_alive(leader) < 2:  # the worker, and the `sleep` that it starts
        time.sleep(0.01)
    os.kill(leader, signal.SIGKILL)
    while count_alive(leader) > 1:
        time.sleep(0.01)
    assert "cpu is stopped" in machine("down").stdout
    assert not is_alive(leader)


def test_two_calls_at_once_start_every_process_once(machine, stand_ins):
    with ThreadPoolExecutor() as pool:
        said = "".join(done.stdout for done in pool.map(lambda _: machine("up", **stand_ins), range(2)))
    for name in ("server", "cpu", "gpu0", "gpu1"):
        assert said.count(f"{name} is started") == 1
        assert said.count(f"{name} is running") == 1


def test_port_of_a_strangers_server_is_refused_with_its_owner(machine, stand_ins):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        done = machine("up", **stand_ins | {"BIN": str(Path(sys.executable).parent), "PREFECT_PORT": port})
    assert done.returncode == 1
    assert f"port {port} is taken by process {os.getpid()} of the user " in done.stderr
    assert "choose another port: PREFECT_PORT=... make up" in done.stderr
    assert machine("down").stdout == ""


def test_running_server_keeps_its_port(machine, stand_ins):
    assert machine("up", **stand_ins).returncode == 0
    done = machine("up", **stand_ins | {"PREFECT_PORT": str(find_free_port())})
    assert done.returncode == 1
    assert f"runs on port {machine.port}; call 'make down' first" in done.stderr


def test_server_beyond_loopback_needs_a_password(machine, stand_ins, tmp_path):
    beyond = stand_ins | {"PREFECT_HOST": "0.0.0.0"}
    refused = machine("up", **beyond)
    assert refused.returncode == 1
    assert "needs a password; set PREFECT_SERVER_API_AUTH_STRING=user:password" in refused.stderr
    assert machine("down").stdout == ""

    password = {"PREFECT_SERVER_API_AUTH_STRING": "me:secret", "DEPLOY": "printenv PREFECT_API_AUTH_STRING"}
    allowed = machine("up", **beyond | password)
    assert allowed.returncode == 0, allowed.stderr
    assert (tmp_path / "data" / "machine" / "deploy.log").read_text() == "me:secret\n"
    assert f"export PREFECT_API_URL={machine.api} PREFECT_API_AUTH_STRING=..." in allowed.stdout


def test_a_failed_deploy_is_shown(machine, stand_ins):
    done = machine("up", **stand_ins | {"DEPLOY": "ls /nowhere"})
    assert done.returncode == 1
    assert "/nowhere" in done.stderr


def test_down_without_up_does_nothing(machine):
    done = machine("down")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.prefect
@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_a_machine_deploys_every_flow(machine, tmp_path):
    assert machine("up").returncode == 0
    deployments = httpx.post(f"{machine.api}/deployments/filter", json={}, timeout=60).json()
    assert {each["entrypoint"].partition(".")[0] for each in deployments} == {"carryover"}
    assert not any(each["pull_steps"] for each in deployments)
    assert {"server", "cpu"} < check_up_and_down(machine, tmp_path / "data" / "machine", DEPLOY="true")
