"""A worker is Prefect's own, under a name that says what its machine has."""

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from carryover.flows.cli.machine.worker import start_worker, worker_command
from carryover.tasks.sft.machine import read_name, this_machine

HIDDEN = {"CUDA_VISIBLE_DEVICES": ""}


def test_worker_is_named_by_what_its_machine_has():
    command = worker_command("cpu", None, HIDDEN)
    name = command[command.index("--name") + 1]
    assert name.startswith(f"{platform.node()}-cpu (no GPU, ")
    assert read_name(name) is not None
    assert (read_name(name) or this_machine()).gpu is None
    assert "--limit" not in command


def test_worker_of_the_gpu_pool_takes_one_run_at_a_time():
    command = worker_command("gpu", "slurm-7", HIDDEN)
    assert command[:6] == ["-m", "prefect", "worker", "start", "--pool", "gpu"]
    assert command[-2:] == ["--limit", "1"]
    assert command[command.index("--name") + 1].startswith("slurm-7 (")


@pytest.mark.parametrize(("device", "label"), [("1", "gpu1"), ("", "gpu")])
def test_workers_of_one_machine_are_told_apart_by_device(device, label):
    command = worker_command("gpu", None, {"CUDA_VISIBLE_DEVICES": device})
    assert command[6] == "--name"
    assert command[7].partition(" (")[0] == f"{platform.node()}-{label}"


def test_a_worker_takes_the_place_of_the_command(tmp_path, monkeypatch):
    became = []
    monkeypatch.setattr(os, "execv", lambda *given: became.append(given))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    monkeypatch.setenv("CARRYOVER_HOME", "/data")
    monkeypatch.chdir(tmp_path)
    command = [sys.executable, *worker_command("cpu", "mine", HIDDEN)]
    start_worker("cpu", "mine", None)
    assert os.environ["CARRYOVER_HOME"] == "/data"
    start_worker("cpu", "mine", Path("here"))
    assert os.environ["CARRYOVER_HOME"] == str(tmp_path / "here")
    assert became == [(sys.executable, command)] * 2


@pytest.mark.parametrize("given", [[], ["--home", "elsewhere"]])
def test_command_becomes_the_worker(tmp_path, given):
    (tmp_path / "prefect.py").write_text("import os, sys\nprint(os.environ.get('CARRYOVER_HOME'), *sys.argv[1:])")
    environment = os.environ | {"PYTHONPATH": str(tmp_path), "CARRYOVER_HOME": "/data", **HIDDEN}
    command = [sys.executable, "-m", "carryover.flows.cli.start", "worker", "--pool", "gpu", *given]
    said = subprocess.check_output(command, cwd=tmp_path, env=environment, text=True)
    home = tmp_path / "elsewhere" if given else "/data"
    assert said.startswith(f"{home} worker start --pool gpu --name {platform.node()}-gpu (no GPU, ")
