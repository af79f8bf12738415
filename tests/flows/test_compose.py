"""The compose file: Docker Compose accepts it, and its services finish a study as processes on Debian's PostgreSQL."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from prefect.client.orchestration import get_client
from prefect.settings import PREFECT_API_AUTH_STRING, PREFECT_API_URL, temporary_settings
from s3fs import S3FileSystem

from carryover.storage.zone.landing import LandingZone
from carryover.tasks.serving.process import ManagedProcess, find_free_port
from tests.flows.compose_programs import FILE, compose_command, postgres_programs, read_services
from tests.flows.conftest import EVALUATION_COUNT, TRAIN_COUNT
from tests.flows.flow_process import ROOT

PASSWORD = "p@ss/w#rd"
PARAMETERS = {"scale": "smoke", "overrides": {"train_count": TRAIN_COUNT, "evaluation_count": EVALUATION_COUNT}}


@pytest.fixture
def compose() -> list[str]:
    """How Docker Compose reads the file."""
    return [*(compose_command() or ()), "--file", str(FILE)]


@pytest.mark.parametrize("profile", [[], ["gpu"]])
def test_docker_compose_accepts_the_file(compose, profile):
    command = [*compose, *(f"--profile={name}" for name in profile), "config", "--services"]
    done = subprocess.run(command, env=os.environ | {"PASSWORD": PASSWORD}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert set(done.stdout.split()) == {"postgres", "server", "storage", "deploy", "cpu", *profile}


def test_docker_compose_asks_for_a_password(compose):
    environment = os.environ | {"PASSWORD": ""}
    done = subprocess.run([*compose, "config"], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "set a password for PostgreSQL" in done.stderr


@pytest.fixture
def postgres() -> Iterator[str]:
    """The address of a PostgreSQL with the user and the database of the compose file."""
    programs, port = postgres_programs() or Path(), find_free_port()
    owner = "postgres" if os.geteuid() == 0 else None  # it refuses root
    with tempfile.TemporaryDirectory() as name:  # pytest's own folders are closed to its owner
        folder, environment = Path(name), os.environ | {"PGPASSWORD": PASSWORD}
        (folder / "password").write_text(PASSWORD)
        if owner is not None:
            subprocess.run(["chown", "-R", owner, folder], check=True)
        create = [programs / "initdb", "--username=prefect", "--auth=scram-sha-256", f"--pwfile={folder}/password"]
        subprocess.run([*create, f"--pgdata={folder}/data"], user=owner, cwd=folder, check=True)
        settings = [f"--port={port}", "--listen_addresses=127.0.0.1", f"--unix_socket_directories={folder}"]
        with subprocess.Popen([programs / "postgres", "-D", folder / "data", *settings], user=owner) as process:
            reached = ["--host=127.0.0.1", f"--port={port}", "--username=prefect"]
            try:
                while subprocess.run([programs / "pg_isready", *reached], check=False).returncode:
                    assert process.poll() is None
                    time.sleep(0.2)
                subprocess.run([programs / "createdb", *reached, "prefect"], env=environment, check=True)
                yield f"127.0.0.1:{port}"
            finally:
                process.send_signal(signal.SIGINT)  # waits for no client


@pytest.mark.prefect
@pytest.mark.slow
@pytest.mark.long
@pytest.mark.timeout(3000)
def test_services_finish_a_study_on_postgresql(postgres, bucket_address, tmp_path, monkeypatch):
    address = f"http://127.0.0.1:{find_free_port()}"
    hosts = {"http://server:4200": address, "http://storage:7070": bucket_address, "0.0.0.0": "127.0.0.1"}
    services = read_services(PASSWORD, hosts)
    host, _, port = postgres.partition(":")
    services["server"]["environment"] |= {
        "PREFECT_SERVER_DATABASE_HOST": host,
        "PREFECT_SERVER_DATABASE_PORT": port,
    }
    inside = {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PREFECT_SERVER_API_PORT": address.rpartition(":")[2],
        "PREFECT_HOME": str(tmp_path / "prefect"),
        "CARRYOVER_HOME": str(tmp_path / "data"),
        "DO_NOT_TRACK": "1",
    }

    def environment(service: str) -> dict[str, str]:
        return os.environ | inside | services[service]["environment"]

    def start(service: str) -> ManagedProcess:
        log, health = tmp_path / f"{service}.log", f"{address}/api/health"
        return ManagedProcess(services[service]["command"], log, health_url=health, environment=environment(service))

    for name, value in services["cpu"]["environment"].items():
        monkeypatch.setenv(name, value)
    S3FileSystem.clear_instance_cache()
    S3FileSystem().mkdir("carryover")
    with start("server") as server:
        server.wait_until_healthy(600)
        subprocess.run(services["deploy"]["command"], cwd=ROOT, env=environment("deploy"), check=True)
        with (
            start("cpu") as worker,
            temporary_settings({PREFECT_API_URL: f"{address}/api", PREFECT_API_AUTH_STRING: f"carryover:{PASSWORD}"}),
            get_client(sync_client=True) as client,
        ):
            deployment = client.read_deployment_by_name("reproduce-study/study")
            run = client.create_flow_run_from_deployment(deployment.id, parameters=PARAMETERS)
            while not (run.state and run.state.is_final()):
                worker.check_running()
                time.sleep(1)
                run = client.read_flow_run(run.id)
            assert run.state.is_completed(), (tmp_path / "cpu.log").read_text()[-8000:]
    purposes = LandingZone(services["cpu"]["environment"]["CARRYOVER_LANDING"]).scan("episodes").collect()["purpose"]
    counts = dict(purposes.value_counts().iter_rows())
    assert counts == {"teacher": 2 * TRAIN_COUNT, "evaluation": 10 * EVALUATION_COUNT}
    query = ["psql", f"postgresql://prefect@{postgres}/prefect", "--tuples-only", "--no-align", "--command"]
    query.append(f"select state_type from flow_run where id = '{run.id}'")
    state = subprocess.check_output(query, env=os.environ | {"PGPASSWORD": PASSWORD}, text=True)
    assert state.strip() == "COMPLETED"
