"""The host's handle on one kernel: Jupyter messages, runtime channel."""

import contextlib
import os
import signal
import time
import uuid
import weakref
from typing import Any

import zmq
from jupyter_client.session import Session

from carryover.tasks.runtime.inside.framing import ANSWER_LIMIT_BYTES
from carryover.tasks.runtime.jupyter.relay import ANSWER_BYTES, open_relay
from carryover.tasks.runtime.process.descendants import parent
from carryover.tasks.runtime.process.node import Node, NodeGoneError, receive_handle, set_timeouts
from carryover.tasks.runtime.process.strays import end_strays
from carryover.tasks.runtime.process.watcher import WATCHER
from carryover.tasks.runtime.runtime_spec import RuntimeSpec, SandboxLevel
from carryover.tasks.runtime.sandbox.folders import ScratchFolders
from carryover.tasks.runtime.sandbox.launch import launch

_REPLY_SECONDS = 30.0
_SOCKET_OPTIONS = {
    zmq.HANDSHAKE_IVL: 0,  # it waits as long as its kernel takes to greet it
    zmq.RECONNECT_IVL: -1,  # and connects once
    zmq.MAXMSGSIZE: ANSWER_BYTES,
    zmq.SNDTIMEO: 10_000,  # milliseconds after which a kernel that takes no request counts as gone
}


class Kernel:
    """A started kernel behind walls; it ends with this Python."""

    def __init__(self, spec: RuntimeSpec, level: SandboxLevel, folders: ScratchFolders) -> None:
        """Start the process and connect.

        Its socket is made here, so that no folder is shown to its blocks.
        """
        with contextlib.ExitStack() as started:
            key = uuid.uuid4().hex
            self._session = Session(key=key.encode())
            context = zmq.Context()
            started.callback(context.destroy, linger=0)
            self._shell = context.socket(zmq.DEALER)
            for option, value in _SOCKET_OPTIONS.items():
                self._shell.setsockopt(option, value)
            self._relay, listener = open_relay(lambda path: self._shell.connect(f"ipc://{path}"))
            started.callback(self._relay.close)
            self.folder = folders.make()
            """Its scratch folder, if it has one."""
            started.callback(folders.remove, self.folder)
            settings = {"key": key, "folder": self.folder_settings(keeps=True), "scratch": folders.base}
            with listener, folders.processes() as processes:
                descriptors = (listener.fileno(), *processes)
                process = launch("jupyter.kernel_entry", spec, level, extra=settings, descriptors=descriptors)
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
            undo = started.pop_all()
        self.close = weakref.finalize(self, undo.close)
        """Ends the kernel. Runs before interpreter shutdown: ZeroMQ can hang on open sockets."""

    def folder_settings(self, *, keeps: bool) -> dict[str, Any] | None:
        """Return the message about its scratch folder to the sandbox side."""
        if self.folder is None:
            return None
        return self.folder.settings(keeps=keeps)

    def end(self) -> None:
        """Kill the kernel's process."""
        self.node.end()

    def execute(self, step: int, seed: str, code: str) -> None:
        """Ask for a step, or raise `NodeGoneError`.

        Its report comes on the node's channel.
        """
        self._send(code, {"step": step, "seed": seed})

    def settle(self, seconds: float = _REPLY_SECONDS) -> bool:
        """Wait for Jupyter's reply; tell whether output reaches the host.

        Raise `NodeGoneError` without a reply.
        """
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and self.node.is_alive() and self._relay.is_open:
            if not self._shell.poll(100):
                self.node.resume()
                continue
            try:
                message: Any = self._session.recv(self._shell)[1]
                if message["parent_header"].get("msg_id") == self._request:
                    return message["content"].get("user_expressions", {}).get("has_output", True)
            except Exception as error:  # a block can write to the kernel's sockets, and parsing then raises anything
                raise NodeGoneError(f"the kernel's connection was written to by a block ({error})") from error
        raise NodeGoneError("the kernel does not answer")

    def ask(self, message: Any, descriptors: tuple[int, ...] = (), answer_limit_bytes: int = ANSWER_LIMIT_BYTES) -> Any:
        """Send a message that runs no block, and return the answer's content."""
        self._send("", {})
        content = self.node.ask(message, descriptors, answer_limit_bytes)
        self.settle()
        return content

    def _end_strays(self) -> None:
        """End the processes that blocks forked.

        Without a PID namespace they outlive the kernel.
        """
        if self.keeper.is_alive():
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self.node.handle, signal.SIGSTOP)  # it forks no more
            end_strays(self.keeper)

    def _send(self, code: str, metadata: dict[str, Any]) -> None:
        content = {"code": code, "silent": True, "store_history": False, "allow_stdin": False}
        if not self._relay.is_open:
            raise NodeGoneError("the kernel's connection is closed")
        self._relay.allow_answer()
        try:
            message: Any = self._session.send(self._shell, "execute_request", content, metadata=metadata)
        except zmq.ZMQError as error:
            raise NodeGoneError(str(error)) from error
        self._request = message["header"]["msg_id"]
