"""Connector to a stock ipykernel."""

import sys
from typing import Any

from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import KernelManager

from carryover.tasks.services.errors import UserError

START_SECONDS = 60
BLOCK_SECONDS = 30


class KernelRuntime:
    """A kernel of this Python's ipykernel; a reset restarts it."""

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

    def reset(self) -> None:
        """Restart the kernel."""
        assert self._manager is not None, "open() comes first"
        self._disconnect()
        self._manager.restart_kernel(now=True)
        self._connect()

    def close(self) -> None:
        """End the kernel."""
        self._disconnect()
        if self._manager is not None:
            self._manager.shutdown_kernel(now=True)
            self._manager = None

    def _connect(self) -> None:
        assert self._manager is not None
        self._client = self._manager.blocking_client()
        self._client.start_channels()
        self._client.wait_for_ready(timeout=START_SECONDS)

    def _disconnect(self) -> None:
        if self._client is not None:
            self._client.stop_channels()
            self._client = None
