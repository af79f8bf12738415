"""A Prefect server for one command, where none is configured.

It ends with the command, even when that is killed.

As a program it reports whether a configured server answers: `make deploy` asks before it declares anything on one.
"""

import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.settings import PREFECT_API_URL, PREFECT_HOME, temporary_settings

from carryover.tasks.services.errors import UserError
from carryover.tasks.services.folders import open_folders
from carryover.tasks.services.progress import waiting_line
from carryover.tasks.services.whole_files import file_lock_when_free
from carryover.tasks.serving.process import ManagedProcess, start_on_free_port

STARTUP_SECONDS = 600.0
"""Startup timeout of our own server while its process lives: some seconds on idle cores, minutes on busy ones."""
QUIET = {"DO_NOT_TRACK": "1", "PREFECT_SERVER_ANALYTICS_ENABLED": "false", "PREFECT_UI_ENABLED": "false"}
"""Settings without telemetry and user interface."""
SERVER_PASSWORD = "PREFECT_SERVER_API_AUTH_STRING"
"""Variable with the password of a server that others reach; our own is for this process alone."""


@contextmanager
def prefect_server() -> Iterator[None]:
    """Use the configured Prefect API, or run a server meanwhile.

    Raises:
        UserError: The configured server does not answer.
        ServerError: Our own server does not start; the message quotes its log.
    """
    if PREFECT_API_URL.value() is not None:
        if lack := unavailable_server():
            raise UserError(f"{lack}; start it, or unset PREFECT_API_URL for a server of this run's own")
        yield
        return
    folders = open_folders()
    with (
        own_server(folders.prefect, folders.logs / "prefect-server.log") as address,
        temporary_settings({PREFECT_API_URL: address, PREFECT_HOME: folders.prefect}),
    ):
        yield


@contextmanager
def own_server(home: Path, log: Path) -> Iterator[str]:
    """Yield the address of a server with its own data folder.

    Raise `ServerError` with its log where it fails.
    """
    environment = os.environ | QUIET | {"PREFECT_HOME": str(home)}
    environment.pop(SERVER_PASSWORD, None)

    def start(port: int) -> ManagedProcess:
        command = [sys.executable, "-m", "prefect", "server", "start"]
        command += ["--host", "127.0.0.1", "--port", str(port), "--no-services", "--no-ui"]
        return ManagedProcess(command, log, health_url=f"{_address(port)}/health", environment=environment)

    # Two servers that prepare one database at once fail.
    with (
        waiting_line("starting a Prefect server for this run") as tell,
        file_lock_when_free(home / ".starting.lock", lambda holder: tell(f"waiting for {holder}")),
    ):
        server, port = start_on_free_port(start, STARTUP_SECONDS, tell)
    with server:
        yield _address(port)


def _address(port: int) -> str:
    return f"http://127.0.0.1:{port}/api"


def unavailable_server() -> str | None:
    """Return why the configured Prefect server is unavailable, or `None`."""
    url = PREFECT_API_URL.value()
    if url is None:
        local = _address(4200)  # the port of `prefect server start`
        return f"no Prefect server is configured: run `prefect server start` and export PREFECT_API_URL={local}"
    with get_client(sync_client=True) as client:
        problem = client.api_healthcheck() or _refusal(client)
    if problem is None:
        return None
    if isinstance(problem, httpx.HTTPStatusError) and problem.response.status_code == httpx.codes.UNAUTHORIZED:
        return f"the Prefect server {url} asks for a password: export PREFECT_API_AUTH_STRING=user:password"
    return f"no answer from the Prefect server {url} ({' '.join(str(problem).split())})"


def _refusal(client: SyncPrefectClient) -> Exception | None:
    """Return why a healthy server refuses this client.

    Such a server reports its health without a password.
    """
    try:
        client.api_version()
    except httpx.HTTPError as error:
        return error
    return None


if __name__ == "__main__":
    logging.getLogger("prefect").setLevel(logging.CRITICAL)
    if lack := unavailable_server():
        sys.exit(f"carryover: {lack}")
