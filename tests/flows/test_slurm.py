"""Workers as Slurm jobs, on two nodes of one device each that Debian's Slurm simulates (`slurm-wlm`, `munge`)."""

import os
import platform
import subprocess
import time

import pytest

from carryover.tasks.serving.process import find_free_port
from tests.flows.flow_process import ROOT

SETTINGS = """
ClusterName=carryover
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/%n.pid
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
MpiDefault=none
GresTypes=gpu
NodeName=node1 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[1]} CPUs=4 RealMemory=40000 Gres=gpu:1
NodeName=node2 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[2]} CPUs=4 RealMemory=40000 Gres=gpu:1
PartitionName=main Nodes=ALL Default=YES State=UP
"""
DEVICES = "NodeName=node[1-2] Name=gpu File=/dev/zero\n"
LASTING = '#!/bin/sh\necho "device $CUDA_VISIBLE_DEVICES: $*"\ntrap "exit 0" TERM\nsleep 60 &\nwait\n'
"""A program `carryover` that lasts as a worker does, and ends at SIGTERM."""

pytestmark = [
    pytest.mark.long,
    pytest.mark.slow,
]


@pytest.fixture
def cluster(tmp_path):
    """Calls a program of Slurm's on a cluster of two nodes."""
    ports = [find_free_port() for _ in range(3)]
    settings = SETTINGS.format(host=platform.node().partition(".")[0], ports=ports, folder=tmp_path)
    (tmp_path / "slurm.conf").write_text(settings)
    (tmp_path / "gres.conf").write_text(DEVICES)
    (tmp_path / "key").write_bytes(os.urandom(64))
    (tmp_path / "key").chmod(0o600)
    (tmp_path / "state").mkdir()
    (tmp_path / "carryover").write_text(LASTING)
    (tmp_path / "carryover").chmod(0o755)
    environment = os.environ | {
        "SLURM_CONF": str(tmp_path / "slurm.conf"),
        "PREFECT_API_URL": "http://host:4200/api",
        "CARRYOVER_BIN": str(tmp_path),
    }
    files = [f"--{name}={tmp_path}/munge.{name.partition('-')[0]}" for name in ("socket", "pid-file", "log-file")]
    seeds = [f"--key-file={tmp_path}/key", f"--seed-file={tmp_path}/munge.seed"]
    daemons = [["munged", "--foreground", "--force", *files, *seeds], ["slurmctld", "-D"]]
    daemons += [["slurmd", "-D", "-N", name] for name in ("node1", "node2")]

    def call(*command):
        return subprocess.check_output(command, cwd=tmp_path, env=environment, text=True)

    started = []
    try:
        for daemon in daemons:
            with (tmp_path / "daemons.log").open("a") as log:
                started.append(subprocess.Popen(daemon, env=environment, stdout=log, stderr=log))
            time.sleep(1)  # a later one asks an earlier one at once
        yield call
    finally:
        for process in reversed(started):
            process.terminate()
            process.wait(30)


def wait_until(is_so):
    while not is_so():
        time.sleep(0.2)


def test_a_worker_per_device_and_the_next_one_waits(cluster, tmp_path):
    jobs = [cluster("sbatch", "--parsable", str(ROOT / "deployments" / "slurm_worker.sbatch")).strip() for _ in "123"]

    def is_started(job):
        log, said = (
            tmp_path / f"carryover-gpu-{job}.log",
            f"device 0: worker --pool gpu --name slurm-{job}",
        )
        return log.exists() and said in log.read_text()

    wait_until(lambda: all(map(is_started, jobs[:2])))
    assert cluster("squeue", "--noheader", "--states=PENDING", "--format=%i").split() == jobs[2:]
    cluster("scancel", "--batch", "--signal=TERM", jobs[0])
    wait_until(lambda: is_started(jobs[2]))
    cluster("scancel", "--batch", "--signal=TERM", *jobs[1:])
    wait_until(lambda: cluster("squeue", "--noheader") == "")
