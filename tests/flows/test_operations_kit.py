"""The files of `deployments/`: they parse, agree with each other and name what exists."""

import json
import os
import stat
import subprocess

import pytest
import yaml

from tests.flows.flow_process import ROOT

FOLDER = ROOT / "deployments"
COMPOSE = yaml.safe_load((FOLDER / "compose.yaml").read_text())
SERVICES = COMPOSE["services"]
DEPLOYMENTS = yaml.safe_load((FOLDER / "prefect.yaml").read_text())
TEMPLATE = json.loads((FOLDER / "work_pool_kubernetes.json").read_text())
POOLS = {one["work_pool"]["name"] for one in DEPLOYMENTS["deployments"]}


def test_compose_services_name_existing_services_volumes_and_files():
    for service in SERVICES.values():
        assert set(service.get("depends_on", ())) <= set(SERVICES)
        assert {volume.partition(":")[0] for volume in service.get("volumes", ())} <= set(COMPOSE["volumes"])
        assert "build" not in service or (ROOT / service["build"]["dockerfile"]).is_file()
    named = [word for word in " ".join(SERVICES["deploy"]["command"]).split() if word.startswith("deployments/")]
    assert named
    assert all((ROOT / name).is_file() for name in named)


def test_compose_starts_a_worker_for_every_pool():
    commands = {name: service.get("command", ())[:5] for name, service in SERVICES.items()}
    started = {name for name in POOLS if commands[name][:3] == ["prefect", "worker", "start"]}
    assert started == POOLS
    assert SERVICES["gpu"]["command"][-2:] == ["--limit", "1"]


def test_compose_publishes_ports_on_loopback_only():
    ports = [port for service in SERVICES.values() for port in service.get("ports", ())]
    assert ports
    assert all(port.startswith("127.0.0.1:") for port in ports)


def placeholders(value):
    """Every variable that a template's values name."""
    text = json.dumps(value)
    return {part.partition("}}")[0].strip() for part in text.split("{{")[1:]}


def test_kubernetes_template_uses_every_variable_it_declares():
    assert placeholders(TEMPLATE["job_configuration"]) == set(TEMPLATE["variables"]["properties"])


def test_kubernetes_pod_of_the_gpu_pool_gets_one_device():
    container = TEMPLATE["job_configuration"]["job_manifest"]["spec"]["template"]["spec"]["containers"][0]
    assert container["resources"]["limits"]["nvidia.com/gpu"] == "{{ gpus }}"
    pools = {one["work_pool"]["name"]: one["work_pool"]["job_variables"] for one in DEPLOYMENTS["deployments"]}
    assert {name: variables.get("gpus", 0) for name, variables in pools.items()} == {"cpu": 0, "gpu": 1}


def test_deployments_name_no_path_of_a_checkout():
    assert DEPLOYMENTS["pull"] == []
    assert {one["entrypoint"].partition(".")[0] for one in DEPLOYMENTS["deployments"]} == {"carryover"}
    assert {one["version"] for one in DEPLOYMENTS["deployments"]} == {"{{ $CARRYOVER_VERSION }}"}


@pytest.fixture
def programs(tmp_path):
    """A folder with a program `prefect` that prints how it was called."""
    program = tmp_path / "prefect"
    program.write_text('#!/bin/sh\necho "$CARRYOVER_HOME $*"\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return tmp_path


def test_slurm_script_starts_one_worker_per_device(programs):
    script = FOLDER / "slurm_worker.sbatch"
    assert "#SBATCH --gpus=1\n" in script.read_text()
    slurm = {"SLURM_JOB_ID": "7", "SLURM_SUBMIT_DIR": "/shared", "CARRYOVER_BIN": str(programs)}
    environment = {"PATH": os.environ["PATH"], "PREFECT_API_URL": "http://host:4200/api", **slurm}
    said = subprocess.check_output(["sh", script], env=environment, text=True)
    assert said == "/shared/data-7 worker start --pool gpu --limit 1 --name slurm-7\n"


def test_slurm_script_without_a_server_says_what_it_lacks(programs):
    environment = {"PATH": os.environ["PATH"], "CARRYOVER_BIN": str(programs)}
    script = FOLDER / "slurm_worker.sbatch"
    done = subprocess.run(["sh", script], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "name the Prefect server" in done.stderr
