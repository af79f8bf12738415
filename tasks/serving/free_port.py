"""A server on a free port, also where another process takes that port before the server listens on it."""

from collections.abc import Callable

from carryover.tasks.serving.process import ManagedProcess, ServerError, find_free_port

TRIES = 3
"""Ports that a server is started on before it is given up."""
PORT_TAKEN = "already in use"
"""What servers say of a port that somebody else listens on."""


def start_on_free_port(
    start: Callable[[int], ManagedProcess], wait: Callable[[ManagedProcess], None]
) -> tuple[ManagedProcess, int]:
    """Return a server that answers, and its port; it is the caller's to stop.

    Args:
        start: Starts the server on a port.
        wait: Returns when the server answers.

    Raises:
        ServerError: That of `wait`; where the log says that the port was taken, after `TRIES` ports.
    """
    for _ in range(TRIES - 1):
        port = find_free_port()
        server = start(port)
        try:
            return _awaited(server, wait), port
        except ServerError:
            if PORT_TAKEN not in server.log_tail().lower():
                raise
    port = find_free_port()
    return _awaited(start(port), wait), port


def _awaited(server: ManagedProcess, wait: Callable[[ManagedProcess], None]) -> ManagedProcess:
    try:
        wait(server)
    except BaseException:
        server.stop()
        raise
    return server
