"""`make up` and `make down`: a server and workers in the background of one machine, and none of them afterwards."""

import os
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from carryover.tasks.serving.process import find_free_port
from tests.flows.flow_process import ROOT

INSTALLED = f"{sys.prefix}/.installed"
DEPLOY = f"make --no-print-directory --old-file={INSTALLED} VENV={sys.prefix} deploy"
STAND_INS = {"python": "exit 0", "prefect": "sleep 60 & wait", "nvidia-smi": r"printf '0\n1\n'"}
"""Programs that last as a server and workers do, on a machine of two GPUs."""


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

    call.api = f"http://127.0.0.1:{port}/api"  # pyright: ignore[reportFunctionMemberAccess]
    yield call
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
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def check_up_and_down(machine, folder, **changed):
    """Assert that a machine comes up once and goes down, and return what `up` started."""
    done = machine("up", **changed)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1].startswith(f"ready: export PREFECT_API_URL={machine.api};")
    groups = {file.stem: int(file.read_text()) for file in folder.glob("*.pid")}
    again = machine("up", **changed)
    assert again.stdout.splitlines()[:-1] == [f"{name} is running" for name in ("server", *sorted(groups)[:-1])]
    down = machine("down")
    assert down.stdout.splitlines() == [f"{name} is stopped" for name in sorted(groups)]  # the server last
    assert not any(map(is_alive, groups.values()))
    return set(groups)


def test_every_gpu_gets_a_worker_and_down_leaves_no_process(machine, stand_ins, tmp_path):
    started = check_up_and_down(machine, tmp_path / "data" / "machine", **stand_ins)
    assert started == {"server", "cpu", "gpu0", "gpu1"}


def test_a_failed_deploy_is_shown(machine, stand_ins):
    done = machine("up", **stand_ins | {"DEPLOY": "ls /nowhere"})
    assert done.returncode == 1
    assert "/nowhere" in done.stderr


def test_down_without_up_does_nothing(machine):
    done = machine("down")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.prefect
@pytest.mark.slow
def test_a_machine_deploys_every_flow(machine, tmp_path):
    assert machine("up").returncode == 0
    deployments = httpx.post(f"{machine.api}/deployments/filter", json={}, timeout=60).json()
    assert {each["entrypoint"].partition(".")[0] for each in deployments} == {"carryover"}
    assert not any(each["pull_steps"] for each in deployments)
    assert {"server", "cpu"} < check_up_and_down(machine, tmp_path / "data" / "machine", DEPLOY="true")
