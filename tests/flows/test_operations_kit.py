"""The files of `deployments/`: they parse, agree with each other and name what exists."""

import json
import os
import stat
import subprocess
import tomllib

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version
from prefect.settings import Settings
from prefect.utilities.templating import apply_values
from sqlalchemy.engine import make_url

from tests.flattening import flat
from tests.flows.compose_programs import read_services
from tests.flows.flow_process import ROOT

FOLDER = ROOT / "deployments"
COMPOSE = yaml.safe_load((FOLDER / "compose.yaml").read_text())
SERVICES = COMPOSE["services"]
DEPLOYMENTS = yaml.safe_load((FOLDER / "prefect.yaml").read_text())
TEMPLATE = json.loads((FOLDER / "work_pool_kubernetes.json").read_text())
CONSTRAINTS = ("constraints.txt", "constraints_gpu.txt")
POOLS = {one["work_pool"]["name"] for one in DEPLOYMENTS["deployments"]}


def pinned(file) -> dict[str, Version]:
    """Return the versions of a file of constraints."""
    pins = [Requirement(line) for line in (FOLDER / file).read_text().splitlines()]
    return {canonicalize_name(pin.name): Version(str(pin.specifier).removeprefix("==")) for pin in pins}


def test_deployments_are_for_the_pinned_prefect():
    assert Version(DEPLOYMENTS["prefect-version"]) == pinned("constraints.txt")["prefect"]


def test_pinned_prefect_and_sqlalchemy_schedule_runs():
    """With SQLAlchemy 2.1 a Prefect before 3.9 schedules none, and vLLM's environment has such a one."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    asked = {each.name: each.specifier for each in map(Requirement, project["optional-dependencies"]["study"])}
    assert asked["prefect"].contains("3.7.7")
    assert not any(asked["sqlalchemy"].contains(version) for version in ("2.1", "2.1.9", "2.2"))
    for file in CONSTRAINTS:
        versions = pinned(file)
        assert asked["prefect"].contains(versions["prefect"])
        assert asked["sqlalchemy"].contains(versions["sqlalchemy"])


def test_compose_services_name_existing_services_volumes_and_files():
    for service in SERVICES.values():
        assert set(service.get("depends_on", ())) <= set(SERVICES)
        assert {volume.partition(":")[0] for volume in service.get("volumes", ())} <= set(COMPOSE["volumes"])
        assert "build" not in service or (ROOT / service["build"]["dockerfile"]).is_file()
    named = [word for word in " ".join(SERVICES["deploy"]["command"]).split() if word.startswith("deployments/")]
    assert named
    assert all((ROOT / name).is_file() for name in named)


def test_compose_starts_a_worker_for_every_pool():
    commands = {pool: SERVICES[pool]["command"] for pool in POOLS}
    assert commands == {pool: ["carryover", "worker", "--pool", pool] for pool in POOLS}


def test_compose_publishes_ports_on_loopback_only():
    ports = flat(service.get("ports", ()) for service in SERVICES.values())
    assert ports
    assert all(port.startswith("127.0.0.1:") for port in ports)


def placeholders(value):
    """Every variable that a template's values name."""
    text = json.dumps(value)
    return {part.partition("}}")[0].strip() for part in text.split("{{")[1:]}


def test_compose_limits_the_memory_of_every_service():
    assert all(service["mem_limit"] for service in SERVICES.values())


@pytest.mark.parametrize("password", ["secret", "p@ss/w#rd:%41?"])
def test_compose_password_reaches_database_and_api(password, monkeypatch):
    services = read_services(password)
    for name, value in services["server"]["environment"].items():
        monkeypatch.setenv(name, value)
    settings = Settings()
    url = settings.server.database.connection_url
    auth_string = settings.server.api.auth_string
    assert url is not None
    assert make_url(url.get_secret_value()).password == password
    assert auth_string is not None
    assert auth_string.get_secret_value() == services["cpu"]["environment"]["PREFECT_API_AUTH_STRING"]
    assert auth_string.get_secret_value() == f"carryover:{password}"


def test_kubernetes_template_uses_every_variable_it_declares():
    assert placeholders(TEMPLATE["job_configuration"]) == set(TEMPLATE["variables"]["properties"])


def pod_of(pool):
    """The pod that Prefect makes of the template, for a deployment on a pool."""
    defaults = {name: one["default"] for name, one in TEMPLATE["variables"]["properties"].items() if "default" in one}
    pools = {one["work_pool"]["name"]: one["work_pool"]["job_variables"] for one in DEPLOYMENTS["deployments"]}
    filled = apply_values(TEMPLATE["job_configuration"], defaults | pools[pool])
    return filled["job_manifest"]["spec"]["template"]["spec"]


def test_kubernetes_pod_of_the_gpu_pool_gets_one_device():
    devices = {pool: pod_of(pool)["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] for pool in POOLS}
    assert devices == {"cpu": 0, "gpu": 1}
    tolerated = {pool: [each["key"] for each in pod_of(pool)["tolerations"]] for pool in POOLS}
    assert tolerated == {"cpu": [], "gpu": ["nvidia.com/gpu"]}


def test_kubernetes_pod_runs_as_an_ordinary_user():
    pod = pod_of("cpu")
    assert pod["nodeSelector"] == {}
    assert pod["securityContext"]["runAsNonRoot"]
    assert f"--uid {pod['securityContext']['runAsUser']} " in (FOLDER / "Containerfile").read_text()
    (container,) = pod["containers"]
    assert container["imagePullPolicy"] == "IfNotPresent"
    assert container["securityContext"] == {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}


def test_deployments_name_no_path_of_a_checkout():
    assert DEPLOYMENTS["pull"] == []
    assert {one["entrypoint"].partition(".")[0] for one in DEPLOYMENTS["deployments"]} == {"carryover"}
    assert {one["version"] for one in DEPLOYMENTS["deployments"]} == {"{{ $CARRYOVER_VERSION }}"}


def unit_text():
    """Return the systemd unit of this checkout."""
    return (FOLDER / "carryover.service").read_text().replace("@CHECKOUT@", str(ROOT))


@pytest.fixture
def systemd_unit(tmp_path, monkeypatch):
    """The unit of this checkout among a user's own."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("SYSTEMD_OFFLINE", "1")  # files alone: no manager is asked
    file = tmp_path / "systemd" / "user" / "carryover.service"
    file.parent.mkdir(parents=True)
    file.write_text(unit_text())
    return file


def test_systemd_accepts_the_unit_of_a_checkout(systemd_unit):
    verify = ["systemd-analyze", "--user", "verify", str(systemd_unit)]
    done = subprocess.run(verify, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    systemd_unit.write_text(unit_text().replace("Exec", "Exek"))
    assert subprocess.run(verify, capture_output=True, check=False).returncode != 0


def test_enabled_unit_starts_with_its_user_s_manager(systemd_unit):
    """A user's manager starts `default.target`: at the first login, or at boot where the user lingers."""
    subprocess.run(["systemctl", "--user", "--quiet", "enable", "carryover"], check=True)
    (link,) = (file for file in systemd_unit.parent.rglob("*") if file.is_symlink())
    assert link.relative_to(systemd_unit.parent).as_posix() == "default.target.wants/carryover.service"
    assert link.resolve() == systemd_unit


@pytest.mark.parametrize(("setting", "does"), [("ExecStart", "up"), ("ExecStop", "down")])
def test_unit_starts_and_stops_the_machine_of_its_checkout(setting, does):
    settings = dict(line.split("=", 1) for line in unit_text().splitlines() if line[:1].isalpha())
    assert (settings["Type"], settings["RemainAfterExit"]) == ("oneshot", "yes")  # it runs on after make up has ended
    assert settings["Restart"] == "on-failure"  # of a server elsewhere: the network may be up later
    command = [*settings[setting].split(), "--dry-run"]
    environment = {"PATH": os.environ["PATH"]}  # nothing of a make that runs the tests
    planned = subprocess.check_output(command, cwd=settings["WorkingDirectory"], env=environment, text=True)
    assert planned.splitlines()[-1].endswith(f"sh deployments/machine.sh {does}")


@pytest.fixture
def programs(tmp_path):
    """A folder with a program `carryover` that prints how it was called."""
    program = tmp_path / "carryover"
    program.write_text('#!/bin/sh\necho "$CARRYOVER_HOME $*"\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return tmp_path


def test_slurm_script_starts_one_worker_per_device(programs):
    script = FOLDER / "slurm_worker.sbatch"
    assert "#SBATCH --gpus=1\n" in script.read_text()
    slurm = {"SLURM_JOB_ID": "7", "SLURM_SUBMIT_DIR": "/shared", "CARRYOVER_BIN": str(programs)}
    environment = {"PATH": os.environ["PATH"], "PREFECT_API_URL": "http://host:4200/api", **slurm}
    said = subprocess.check_output(["sh", script], env=environment, text=True)
    assert said == "/shared/data worker --pool gpu --name slurm-7\n"


def test_slurm_script_without_a_server_says_what_it_lacks(programs):
    environment = {"PATH": os.environ["PATH"], "CARRYOVER_BIN": str(programs)}
    script = FOLDER / "slurm_worker.sbatch"
    done = subprocess.run(["sh", script], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "name the Prefect server" in done.stderr
