"""The deployments of `deployments/` on a Prefect server of a test's own, and workers that take their runs."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from carryover.tasks.serving.process import ManagedProcess, find_free_port
from tests.flows.flow_process import ROOT

PREFECT = (sys.executable, "-m", "prefect")
Found = TypeVar("Found")


@contextmanager
def started_server(folder: Path) -> Iterator[dict[str, str]]:
    """Yield the environment that reaches a server with its services; its log is `server.log` in the folder."""
    port = find_free_port()
    environment = os.environ | {
        "PREFECT_API_URL": f"http://127.0.0.1:{port}/api",
        "PREFECT_HOME": str(folder / "prefect"),
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "PREFECT_SERVER_DATABASE_TIMEOUT": "300",  # on a busy disk, SQLite is locked for longer than the default
        "PREFECT_SERVER_DATABASE_CONNECTION_TIMEOUT": "300",
        "DO_NOT_TRACK": "1",
        "CARRYOVER_HOME": str(folder / "data"),
    }
    command = [*PREFECT, "server", "start", "--host", "127.0.0.1", "--port", str(port), "--no-ui"]
    health = f"http://127.0.0.1:{port}/api/health"
    with ManagedProcess(command, folder / "server.log", health_url=health, environment=environment) as process:
        process.wait_until_healthy(300)
        yield environment


def call(environment: Mapping[str, str], *command: str) -> str:
    """Run a command in the repository that must succeed and return what it printed."""
    done = subprocess.run(command, cwd=ROOT, env=dict(environment), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def prefect(environment: Mapping[str, str], *arguments: str) -> str:
    """Run a command of Prefect's."""
    return call(environment, *PREFECT, *arguments)


def deploy(environment: Mapping[str, str]) -> None:
    """Call the README's command, with the environment that the tests run in taken for installed."""
    installed = f"{sys.prefix}/.installed"
    call(environment, "make", "--no-print-directory", f"--old-file={installed}", f"VENV={sys.prefix}", "deploy")


def worker(environment: Mapping[str, str], pool: str, log: Path) -> ManagedProcess:
    """Start a worker as `make up` does."""
    command = [sys.executable, "-m", "carryover.flows.cli.start", "worker", "--pool", pool]
    return ManagedProcess(command, log, health_url="http://127.0.0.1:9/", environment=environment)


def wait_until(is_there: Callable[[], Found], *processes: ManagedProcess) -> Found:
    """Return what is there at last, while processes go on."""
    while not (found := is_there()):
        for process in processes:
            process.check_running()
        time.sleep(0.5)
    return found
