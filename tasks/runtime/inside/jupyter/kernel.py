"""A Jupyter kernel whose cells our step runner runs.

So values and tracebacks are those of the fork tree.
"""

import asyncio
import logging
import os
import select
import threading
from typing import Any

import zmq
from ipykernel.kernelbase import Kernel
from jupyter_client.session import Session
from tornado.ioloop import IOLoop
from zmq.eventloop.zmqstream import ZMQStream

from ..framing import Channel
from ..node import Server
from ..seeding import Seeder


class StepKernel(Kernel):
    """Runs cells as steps; reports take the channel of tool calls."""

    server: Server

    def pre_handler_hook(self) -> None:
        """Leave the handler of interrupts to the step runner."""

    post_handler_hook = pre_handler_hook

    async def do_execute(
        self, code: str, *_settings: Any, cell_meta: dict[str, Any] | None = None, **_others: Any
    ) -> dict[str, Any]:
        """Run a cell with a step; any other announces a message."""
        try:
            match cell_meta:
                case {"step": int(step), "seed": str(seed)}:
                    self._run_outside_of_the_loop(step, seed, code)
                    self.server.runner.tidy()  # Jupyter flushes the streams before it answers
                case _:
                    while not self.server.serve_one():
                        pass
        except Exception:  # noqa: BLE001 - a block may have bent anything
            self.server.fail()
        expressions = {"has_output": self.server.has_output}
        return {"status": "ok", "execution_count": self.execution_count, "payload": [], "user_expressions": expressions}

    def _run_outside_of_the_loop(self, step: int, seed: str, code: str) -> None:
        """Run a block without a running loop: it may run one."""
        loop = asyncio.get_running_loop()
        asyncio._set_running_loop(None)
        asyncio.set_event_loop(None)
        try:
            self.server.run(step, seed, code)
        finally:
            asyncio.set_event_loop(loop)
            asyncio._set_running_loop(loop)


def prepare(channel: Channel, seeder: Seeder, key: str, listener: int) -> StepKernel:
    """Return a kernel at the host's socket, with threads and loops.

    It has no channel but this one, so that blocks need no right to make sockets.
    """
    shell = zmq.Context().socket(zmq.ROUTER)
    shell.setsockopt(zmq.USE_FD, listener)
    shell.bind("ipc://shell")  # a name without effect: the socket has its own
    log = logging.getLogger(__name__)
    kernel = StepKernel(session=Session(key=key.encode()), shell_stream=ZMQStream(shell), log=log)
    kernel.server = Server(channel, seeder, is_root=False)
    kernel.server.runner.tidy()
    return kernel


def serve(kernel: StepKernel) -> None:
    """Tell the host that the kernel is ready; serve until killed."""
    channel = kernel.server.channel
    channel.send(("ready", None))
    channel.receive()  # the host is ready for the handle
    handle = os.pidfd_open(os.getpid())
    channel.send(("forked", (None, None), False, 1, True), (handle,))
    os.close(handle)
    threading.Thread(target=_end_with_host, args=(channel.fileno(),), daemon=True).start()
    kernel.start()
    IOLoop.current().start()


def _end_with_host(descriptor: int) -> None:
    """End this process when the host has closed its end."""
    poll = select.poll()
    poll.register(descriptor, 0)  # nothing but the end of the connection
    poll.poll()
    os._exit(0)
