"""The host's handle on one kernel: Jupyter's messages to run cells, the runtime's channel for everything else."""

import contextlib
import os
import signal
import time
import uuid
import weakref
from pathlib import Path
from typing import Any

import zmq
from jupyter_client.blocking.client import BlockingKernelClient

from carryover.tasks.runtime.inside.framing import ANSWER_LIMIT_BYTES
from carryover.tasks.runtime.jupyter.relay import ANSWER_BYTES, open_relay
from carryover.tasks.runtime.process.descendants import parent
from carryover.tasks.runtime.process.node import Node, NodeGoneError, receive_handle, set_timeouts
from carryover.tasks.runtime.process.strays import end_strays
from carryover.tasks.runtime.process.watcher import WATCHER
from carryover.tasks.runtime.sandbox.launch import launch
from carryover.tasks.runtime.spec import RuntimeSpec, SandboxLevel

_REPLY_SECONDS = 30.0
_SEND_MILLISECONDS = 10_000
"""A kernel whose socket takes no request for this long counts as gone."""


class Kernel:
    """A started kernel behind the walls of a level; it ends at the latest when this Python does."""

    def __init__(self, spec: RuntimeSpec, level: SandboxLevel) -> None:
        with contextlib.ExitStack() as started:
            self._start(spec, level, started)
            undo = started.pop_all()
        self._end = weakref.finalize(self, undo.close)
        """Before Python takes its modules apart: what is open then, Jupyter's client may wait for, for ever."""

    def _start(self, spec: RuntimeSpec, level: SandboxLevel, started: contextlib.ExitStack) -> None:
        """Start the process and connect; put what ends it again on a stack, also when it does not come that far.

        The socket is made here, and the kernel is handed it open: no folder of the host's is shown to its blocks.
        """
        connection = {"transport": "ipc", "key": uuid.uuid4().hex, "signature_scheme": "hmac-sha256"}
        self._client = BlockingKernelClient()  # it connects once, and waits as long as its kernel takes to greet it
        self._client.context.setsockopt(zmq.HANDSHAKE_IVL, 0)
        self._client.context.setsockopt(zmq.RECONNECT_IVL, -1)
        self._client.context.setsockopt(zmq.MAXMSGSIZE, ANSWER_BYTES)
        self._client.load_connection_info({name: connection[name] for name in ("key", "signature_scheme")})
        started.callback(self._client.stop_channels)
        self._relay, listener = open_relay(self._connect)
        started.callback(self._relay.close)
        with listener:
            told = {"connection": connection}
            process = launch("jupyter.kernel_entry", spec, level, extra=told, descriptors=(listener.fileno(),))
        started.callback(process.close)
        set_timeouts(process.connection)
        process.channel.send(("introduce",))
        handle, _ = receive_handle(process.channel)
        self.node = Node(process.channel, handle)
        started.callback(self.node.close)
        keeper = os.pidfd_open(parent(self.node.process_id()))
        self.keeper = Node(process.channel, keeper, self.node.family)
        """The kernel's parent: whatever a block forked descends from it, orphans included."""
        started.callback(self.keeper.close)
        started.callback(self._end_strays)
        started.callback(WATCHER.leave, self.keeper)

    def execute(self, step: int, seed: str, code: str) -> None:
        """Ask for a step to be run; its report comes on the node's channel.

        Raises:
            NodeGoneError: Nobody takes the request.
        """
        self._request = self._send(code, {"step": step, "seed": seed})

    def settle(self, seconds: float = _REPLY_SECONDS) -> bool:
        """Wait until Jupyter too has answered the last request; tell whether output still reaches the host.

        Raises:
            NodeGoneError: It does not.
        """
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and self.node.is_alive() and self._relay.is_open:
            if not self._client.shell_channel.socket.poll(100):  # type: ignore[union-attr]
                self.node.resume()
                continue
            request, has_output = self._receive_answer()
            if request == self._request:
                return has_output
        raise NodeGoneError("the kernel does not answer")

    def ask(self, message: Any, descriptors: tuple[int, ...] = (), answer_limit_bytes: int = ANSWER_LIMIT_BYTES) -> Any:
        """Send a message that runs no block, and return the answer's content."""
        self._request = self._send("", {})
        content = self.node.ask(message, descriptors, answer_limit_bytes)
        self.settle()
        return content

    def close(self) -> None:
        """End the kernel."""
        self._end()

    def _end_strays(self) -> None:
        """End what blocks forked, which outlives the kernel where it has no namespace of processes to end with."""
        if self.keeper.is_alive():
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self.node.handle, signal.SIGSTOP)  # it forks no more
            end_strays(self.keeper)

    def _connect(self, path: Path) -> None:
        """Connect Jupyter's client, which knows a path as an address and a number."""
        address, _, number = str(path).rpartition("-")
        self._client.load_connection_info({"transport": "ipc", "ip": address, "shell_port": int(number)})
        self._client.start_channels(shell=True, iopub=False, stdin=False, hb=False, control=False)
        self._client.shell_channel.socket.setsockopt(zmq.SNDTIMEO, _SEND_MILLISECONDS)  # type: ignore[union-attr]

    def _send(self, code: str, metadata: dict[str, Any]) -> str:
        content = {"code": code, "silent": True, "store_history": False, "allow_stdin": False}
        message = self._client.session.msg("execute_request", content, metadata=metadata)
        if not self._relay.is_open:
            raise NodeGoneError("the kernel's connection is closed")
        self._relay.allow_answer()
        try:
            self._client.shell_channel.send(message)
        except zmq.ZMQError as error:
            raise NodeGoneError(str(error)) from error
        return message["header"]["msg_id"]

    def _receive_answer(self) -> tuple[str | None, bool]:
        """Return which request the next message answers, and what it says of the output."""
        try:
            message = self._client.get_shell_msg(timeout=1)
            told = message["content"].get("user_expressions", {})
            return message["parent_header"].get("msg_id"), told.get("has_output", True)
        except Exception as error:  # a block can write to the kernel's sockets, and parsing then raises anything
            raise NodeGoneError(f"the kernel's connection was written to by a block ({error})") from error
