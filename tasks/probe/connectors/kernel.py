"""Connector to a stock ipykernel."""

import platform
import signal
import sys
import time
from importlib.metadata import version
from typing import Any

from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import KernelManager

from carryover.tasks.services.errors import UserError

START_SECONDS = 60
BLOCK_SECONDS = 30
TIMEOUT_SECONDS = 1


class KernelRuntime:
    """A stock kernel; a reset restarts it, a resume attaches anew."""

    def __init__(self) -> None:
        self._manager: KernelManager | None = None
        self._client: BlockingKernelClient | None = None

    def open(self) -> None:
        """Start a kernel."""
        self._manager = KernelManager(transport="ipc")
        arguments = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        self._manager._kernel_spec = KernelSpec(argv=arguments, language="python", display_name="Python")
        self._manager.start_kernel()
        self._connect()

    def run(self, code: str) -> str:
        """Run a cell and return its output, value and traceback."""
        assert self._client is not None, "open() comes first"
        parts: list[str] = []

        def collect(message: dict[str, Any]) -> None:
            content = message["content"]
            match message["msg_type"]:
                case "stream":
                    parts.append(content["text"])
                case "execute_result":
                    parts.append(f"\n{content['data']['text/plain']}\n")
                case "error":
                    parts.append(f"\n{content['ename']}: {content['evalue']}\n")

        try:
            self._client.execute_interactive(code, timeout=BLOCK_SECONDS, output_hook=collect, allow_stdin=False)
        except TimeoutError as error:
            raise UserError(f"a cell took more than {BLOCK_SECONDS} s; probe again on an idle machine") from error
        return "".join(parts)

    def version(self) -> str:
        """Return the versions of ipykernel, IPython and Python."""
        return f"ipykernel {version('ipykernel')}, ipython {version('ipython')}, Python {platform.python_version()}"

    def time_out(self) -> None:
        """Interrupt a cell, as harnesses do with one that takes too long."""
        assert self._client is not None, "open() comes first"
        assert self._manager is not None
        request = self._client.execute("while True: pass", allow_stdin=False)
        time.sleep(TIMEOUT_SECONDS)
        self._manager.interrupt_kernel()
        self._client._recv_reply(request, timeout=BLOCK_SECONDS)

    def resume(self) -> None:
        """Attach a new client to the kernel."""
        self._disconnect()
        self._connect()

    def reset(self) -> None:
        """Restart the kernel."""
        self._restart()

    def kill(self) -> None:
        """Kill the kernel and start another in its place."""
        assert self._manager is not None, "open() comes first"
        self._manager.signal_kernel(signal.SIGKILL)
        self._restart()

    def hide(self, value: str) -> None:
        """Keep a value in this process, as the host of tools does."""
        self._hidden = [value]

    def close(self) -> None:
        """End the kernel."""
        self._disconnect()
        if self._manager is not None:
            self._manager.shutdown_kernel(now=True)
            self._manager = None

    def _restart(self) -> None:
        assert self._manager is not None, "open() comes first"
        self._disconnect()
        self._manager.restart_kernel(now=True)
        self._connect()

    def _connect(self) -> None:
        assert self._manager is not None
        self._client = self._manager.blocking_client()
        self._client.start_channels()
        self._client.wait_for_ready(timeout=START_SECONDS)

    def _disconnect(self) -> None:
        if self._client is not None:
            self._client.stop_channels()
            self._client = None


class ClearedKernelRuntime(KernelRuntime):
    """The same kernel, whose reset is IPython's `%reset`."""

    def reset(self) -> None:
        """Clear the names of the kernel."""
        self.run("%reset -f")
