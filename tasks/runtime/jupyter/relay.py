"""Relay between client and kernel, with a limit on responses.

A block can write to its kernel's socket whatever it likes, and the client keeps every part of a message until the last
one comes. So what comes is counted before it reaches the client.
"""

import contextlib
import select
import socket
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path

ANSWER_BYTES = 1 << 16
"""Most bytes that a kernel may send for a request. A true answer takes about a thousand, whatever a block did:
reports go by the runtime's channel, and output by a file."""
_CHUNK_BYTES = 1 << 16
_CONNECT_SECONDS = 30.0


class Relay:
    """Carries bytes between two connections in a thread, to a limit."""

    def __init__(self, client: socket.socket, kernel: socket.socket) -> None:
        self.is_open = True
        self.carried_bytes = 0
        """Bytes that the kernel has sent in total."""
        self._allowed_bytes = ANSWER_BYTES
        self._client = client
        self._kernel = kernel
        self._thread = threading.Thread(target=self._carry, name="kernel-relay", daemon=True)
        self._thread.start()

    def allow_answer(self) -> None:
        """Let another answer through: a request is about to be sent."""
        self._allowed_bytes = self.carried_bytes + ANSWER_BYTES

    def close(self) -> None:
        """Close both connections."""
        self._end()
        self._thread.join()
        self._client.close()
        self._kernel.close()

    def _carry(self) -> None:
        with contextlib.suppress(OSError):  # one of the two is gone
            poll = select.poll()
            poll.register(self._client, select.POLLIN)
            poll.register(self._kernel, select.POLLIN)
            while all(self._carry_from(descriptor) for descriptor, _ in poll.poll()):
                pass
        self._end()

    def _carry_from(self, descriptor: int) -> bool:
        """Carry one end's bytes to the other; tell whether more may come."""
        is_answer = descriptor == self._kernel.fileno()
        source, target = (self._kernel, self._client) if is_answer else (self._client, self._kernel)
        part = source.recv(_CHUNK_BYTES)
        if is_answer:
            self.carried_bytes += len(part)
            if self.carried_bytes > self._allowed_bytes:
                return False
        target.sendall(part)
        return bool(part)

    def _end(self) -> None:
        self.is_open = False
        for connection in (self._client, self._kernel):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


def open_relay(connect: Callable[[Path], object]) -> tuple[Relay, socket.socket]:
    """Return a connected relay, and the socket for its kernel.

    `connect` is told the path that the client must connect to. Both paths are gone when this returns: nobody else ever
    connects, and a worker that is killed leaves none behind. A temporary folder that takes no socket is an `OSError`.
    """
    with contextlib.ExitStack() as opened, tempfile.TemporaryDirectory(prefix="kernel-") as directory:
        listener = opened.enter_context(_listen(Path(directory) / "kernel"))
        kernel = opened.enter_context(socket.socket(socket.AF_UNIX))
        kernel.connect(listener.getsockname())
        with _listen(Path(directory) / "client") as entrance:
            connect(Path(directory) / "client")
            entrance.settimeout(_CONNECT_SECONDS)
            client = opened.enter_context(entrance.accept()[0])
        client.settimeout(None)
        opened.pop_all()
        return Relay(client, kernel), listener


def _listen(path: Path) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX)
    try:
        listener.bind(str(path))
    except OSError as error:
        listener.close()
        way_out = "set TMPDIR to a folder with a short path that takes sockets"
        raise OSError(f"a kernel's socket cannot be made at {path} ({error}); {way_out}") from error
    listener.listen()
    return listener
