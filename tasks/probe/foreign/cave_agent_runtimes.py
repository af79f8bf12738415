"""cave-agent's two runtimes."""
# pyright: reportMissingImports=false

import asyncio
from typing import Any


class IPython:
    """`IPythonRuntime`: blocks run in this process."""

    PACKAGES = ("cave-agent", "ipython")

    def open(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._given = {}
        self._start()

    def run(self, code: str) -> str:
        done = self._wait(self._runtime.execute(code))
        return f"{done.stdout or ''}\n{done.error or ''}"

    def reset(self) -> None:
        self._wait(self._runtime.reset())

    def inject(self, values: dict[str, Any]) -> None:
        from cave_agent import Variable

        self._given = values
        for name, value in values.items():
            self._runtime.inject_variable(Variable(name, value))

    def injected(self) -> dict[str, Any]:
        return self._given

    def close(self) -> None:
        self._loop.close()

    def _start(self) -> None:
        from cave_agent.runtime import IPythonRuntime

        self._runtime = IPythonRuntime()

    def _wait(self, awaitable: Any) -> Any:
        return self._loop.run_until_complete(awaitable)


class IPyKernel(IPython):
    """`IPyKernelRuntime`: blocks run in a kernel, silent for five seconds at most."""

    PACKAGES = ("cave-agent", "ipykernel")

    def _start(self) -> None:
        from cave_agent.runtime import IPyKernelRuntime

        self._runtime = IPyKernelRuntime(iopub_timeout=5.0)
        self._wait(self._runtime.start())

    def time_out(self) -> None:
        self._wait(self._interrupt())

    def kill(self) -> None:
        self.run("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)")

    def close(self) -> None:
        self._wait(self._runtime.stop())
        super().close()

    async def _interrupt(self) -> None:
        block = asyncio.ensure_future(self._runtime.execute("while True: pass"))
        await asyncio.sleep(2)
        await self._runtime.interrupt()
        await block
