"""A server as a managed process, started, watched and stopped."""

import contextlib
import re
import shlex
import socket
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import httpx

from carryover.tasks.services.errors import UserError
from carryover.tasks.serving import supervisor

POLL_SECONDS = 0.2
"""Time between two looks at a server that starts."""
MAX_LOG_LINES = 10_000
"""Last lines of an ended server's log that tell how it ended."""
SIGNALLED = 128
"""Exit status of a shell, and of our supervisor, before the number of the signal that ended the command."""
KILLED_CHILD = re.compile(r"Failed core proc\(s\): \{[^}]*: -\d+|Worker proc \S+ died unexpectedly")
"""vLLM's report on an engine that a signal ended while it loaded, or on a worker that died once it had loaded."""
LOST_WORKER = "WorkerProc initialization failed"
"""vLLM's report on a worker of a tensor-parallel engine that ended while it loaded, for whatever reason."""
FAILED_WORKER = "WorkerProc failed to start"
"""What a worker logs of its own error, and a killed one does not."""
TRIES = 3
"""Ports that a server is started on before it is given up."""


class ServerError(UserError):
    """A server failed; the text quotes the end of its log."""


class DeadServerError(ServerError):
    """A server has died since it answered, or was killed before."""


class ManagedProcess(contextlib.AbstractContextManager["ManagedProcess"]):
    """A server process that ends with its block and its starter."""

    def __init__(
        self,
        command: Sequence[str],
        log_path: Path,
        *,
        health_url: str,
        environment: Mapping[str, str] | None = None,
        stop_grace_seconds: float = 10.0,
    ) -> None:
        """Start the command.

        Its output goes to the end of the log, after a line with the command; `health_url` answers with 200 once the
        server is ready; a server that is told to stop and does not is killed after the grace time.
        """
        self.command = tuple(command)
        self.log_path = log_path
        self._health_url = health_url
        self._stop_grace_seconds = stop_grace_seconds
        log_path.parent.mkdir(parents=True, exist_ok=True)
        with log_path.open("ab") as log:
            log.write(f"$ {shlex.join(command)}\n".encode())
            log.flush()
            self._log_start = log.tell()
            self._process = subprocess.Popen(
                [sys.executable, "-I", supervisor.__file__, str(stop_grace_seconds), *command],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env=None if environment is None else dict(environment),
            )

    def __exit__(self, *_: object) -> None:
        self.stop()

    def wait_until_healthy(self, timeout_seconds: float, tell: Callable[[str], None] = lambda _: None) -> None:
        """Wait for the health check; raise `ServerError` without an answer.

        `tell` is told the last line of the log at every look.
        """
        started = time.monotonic()
        while not self.is_healthy():
            self.check_running()
            if time.monotonic() - started > timeout_seconds:
                self.stop()
                raise ServerError(self._describe(f"server not ready after {timeout_seconds:.0f} s"))
            tell(self.log_tail(1))
            time.sleep(POLL_SECONDS)
        # Another server on the same port would answer as well, while ours fails to bind it.
        self.check_running()

    def is_healthy(self) -> bool:
        """Tell whether the health check answers with success."""
        try:
            # A proxy that the environment names is for the network; reading certificates takes a third of a look.
            return httpx.get(self._health_url, timeout=5, trust_env=False, verify=False).status_code == 200
        except httpx.HTTPError:
            return False

    def check_running(self, error: type[ServerError] = ServerError) -> None:
        """Raise the last log lines when the server has ended.

        A status beyond 128 is the signal that ended the server, a negative one the signal that ended its supervisor.
        vLLM loads its model in children; where one was killed, the server reports it and exits by itself.
        """
        status = self._process.poll()
        if status is None:
            return
        was_killed = status < 0 or status > SIGNALLED
        kind = error
        if was_killed or self._has_lost_child():
            kind = DeadServerError
        raise kind(self._describe(f"server ended with status {status}"))

    def check_survived(self) -> None:
        """Raise `DeadServerError` when the server has ended, or is about to."""
        if not self.is_healthy():
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(30)  # seconds, for its supervisor to report the exit
        self.check_running(DeadServerError)

    def stop(self) -> None:
        """End the server and its children; harmless when ended."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(self._stop_grace_seconds + 5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def log_tail(self, line_count: int = 20) -> str:
        """Return the last lines that this server logged."""
        with self.log_path.open("rb") as log:
            log.seek(self._log_start)
            return b"".join(deque(log, maxlen=line_count)).decode(errors="replace").rstrip("\n")

    def _has_lost_child(self) -> bool:
        """Tell whether the log reports a killed engine or worker of vLLM."""
        log = self.log_tail(MAX_LOG_LINES)
        if KILLED_CHILD.search(log) is not None:
            return True
        return LOST_WORKER in log and FAILED_WORKER not in log

    def _describe(self, what: str) -> str:
        return f"{what}: {shlex.join(self.command)}\nlast lines of {self.log_path}:\n{self.log_tail()}"


def find_free_port() -> int:
    """Return a port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def start_on_free_port(
    start: Callable[[int], ManagedProcess], timeout_seconds: float, tell: Callable[[str], None] = lambda _: None
) -> tuple[ManagedProcess, int]:
    """Return a running server and its port, to be stopped by callers.

    Raise the error of `wait_until_healthy`; where the log says that the port was taken, after `TRIES` ports.
    """
    for tries_left in reversed(range(TRIES)):
        port = find_free_port()
        server = start(port)
        try:
            server.wait_until_healthy(timeout_seconds, tell)
        except BaseException as error:
            server.stop()
            was_taken = isinstance(error, ServerError) and "already in use" in server.log_tail().lower()
            if not (was_taken and tries_left):
                raise
        else:
            return server, port
    raise AssertionError("unreachable: the last try returns or raises")
