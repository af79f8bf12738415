"""A Jupyter kernel whose cells our step runner runs, so that values and tracebacks are those of the fork tree."""

import os
import select
import threading
from typing import Any

import zmq
from ipykernel.iostream import IOPubThread
from ipykernel.kernelapp import IPKernelApp
from ipykernel.kernelbase import Kernel
from IPython.core.profiledir import ProfileDir
from tornado.ioloop import IOLoop

from ..capture import redirect_output
from ..framing import Channel
from ..node import Server
from ..seeding import Seeder


class KernelServer(Server):
    """A server that also answers what the fork tree's host learns from forks."""

    def answer_setup(self, tools: dict[str, str | None], output: int) -> None:
        """Become an episode's."""
        redirect_output(output)
        self.runner.add_tools(tools)

    def answer_canary(self) -> str | None:
        """Say what the namespace remembers."""
        return self.runner.canary()

    def answer_forget(self, names: list[str] | None) -> None:
        """Drop names, or with none all."""
        self.runner.forget(names)


class StepKernel(Kernel):
    """Runs cells as steps; the report goes to the host by the channel that also carries tool calls."""

    implementation = "carryover"
    implementation_version = "1"
    banner = ""
    language_info = {"name": "python", "mimetype": "text/x-python", "file_extension": ".py"}  # noqa: RUF012
    server: KernelServer

    async def do_execute(
        self, code: str, *_settings: Any, cell_meta: dict[str, Any] | None = None, **_others: Any
    ) -> dict[str, Any]:
        """Run a cell that comes with a step and a seed; any other says that a message waits on the channel."""
        try:
            match cell_meta:
                case {"step": int(step), "seed": str(seed)}:
                    self.server.run(step, seed, code)
                    self.server.runner.tidy()  # Jupyter flushes the streams before it answers
                case _:
                    while not self.server.serve_one():
                        pass
        except Exception:  # noqa: BLE001 - a block may have bent anything
            self.server.fail()
        told = {"has_output": self.server.has_output}
        return {"status": "ok", "execution_count": self.execution_count, "payload": [], "user_expressions": told}


class StepKernelApp(IPKernelApp):
    """Puts a kernel on the socket that the host listens for it at, and reads and writes no file for it.

    Unused channels are disabled, so that blocks need no right to make sockets.
    """

    kernel_class = StepKernel
    outstream_class = ""  # the step runner captures output by itself
    connection: dict[str, Any]
    listener: int
    """Descriptor of the socket."""

    def init_connection_file(self) -> None:
        """Take the connection from the host."""
        self.load_connection_info(self.connection)  # type: ignore[arg-type]

    def write_connection_file(self, **_options: Any) -> None:
        """Write none: who may talk to this kernel knows the connection."""

    def init_sockets(self) -> None:
        """Take requests at the host's socket."""
        super().init_sockets()
        self.shell_socket.setsockopt(zmq.USE_FD, self.listener)
        self.shell_socket.bind("ipc://shell")  # a name without effect: the socket has its own

    def _bind_socket(self, s: Any, port: int) -> int:
        """Bind no socket where none is given."""
        return port

    def init_iopub(self, context: zmq.Context[Any]) -> None:
        """Publish nothing."""
        self.iopub_thread = IOPubThread(context.socket(zmq.XPUB), session=self.session)
        self.iopub_thread.start()
        self.iopub_socket = self.iopub_thread.background_socket

    def init_heartbeat(self) -> None:
        """Have none: the host holds a handle of the process."""

    def log_connection_info(self) -> None:
        """Log nothing: descriptor 1 is a block's."""

    def init_profile_dir(self) -> None:
        """Have a profile that lies nowhere."""
        self.profile_dir = ProfileDir()

    def init_config_files(self) -> None:
        """Have no configuration files."""

    def load_config_file(self, suppress_errors: Any = None) -> None:
        """Load none."""

    def init_crash_handler(self) -> None:
        """Let a crash be a crash."""


def prepare(channel: Channel, seeder: Seeder, connection: dict[str, Any], listener: int) -> StepKernelApp:
    """Return a kernel that takes requests at the host's socket, with all the loops that it will run."""
    StepKernel.server = KernelServer(channel, seeder, is_root=False)
    StepKernelApp.connection, StepKernelApp.listener = connection, listener
    app = StepKernelApp.instance()
    app.initialize([])
    IOLoop.current()
    return app


def serve(app: StepKernelApp) -> None:
    """Tell the host that the kernel is ready, and serve until it is killed."""
    channel = StepKernel.server.channel
    channel.send(("ready", None))
    channel.receive()  # the host is ready for the handle
    handle = os.pidfd_open(os.getpid())
    channel.send(("forked", None, False, 1, True), (handle,))
    os.close(handle)
    threading.Thread(target=_end_with_host, args=(channel.fileno(),), daemon=True).start()
    app.start()


def _end_with_host(descriptor: int) -> None:
    """End this process when the host has closed its end of the channel."""
    poll = select.poll()
    poll.register(descriptor, 0)  # nothing but the end of the connection
    poll.poll()
    os._exit(0)
