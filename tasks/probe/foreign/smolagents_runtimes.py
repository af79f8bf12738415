"""The local executor of smolagents, and OpenEnv's around it."""
# pyright: reportMissingImports=false

from typing import Any


class LocalExecutor:
    """`LocalPythonExecutor` with its own imports and two seconds a block."""

    PACKAGES = ("smolagents",)

    def open(self) -> None:
        from smolagents import LocalPythonExecutor

        self._given = {}
        self._executor = LocalPythonExecutor([], timeout_seconds=2)
        self._executor.send_tools({})

    def run(self, code: str) -> str:
        try:
            done = self._executor(code)
        except Exception as error:
            return f"{self._executor.state.get('_print_outputs', '')}\n{type(error).__name__}: {error}"
        return f"{done.logs}\n{done.output}"

    def time_out(self) -> None:
        self.run("import time\ntime.sleep(4)")

    def inject(self, values: dict[str, Any]) -> None:
        self._given = values
        self._executor.send_variables(values)

    def injected(self) -> dict[str, Any]:
        return self._given

    def close(self) -> None:
        del self._executor


class OpenEnvExecutor:
    """`PyExecutor` of OpenEnv's coding environment; a reset makes a new one."""

    PACKAGES = ("openenv", "smolagents")

    def open(self) -> None:
        from openenv.core.tools.local_python_executor import PyExecutor

        self._executor = PyExecutor()

    def run(self, code: str) -> str:
        done = self._executor.run(code)
        return f"{done.stdout}\n{done.stderr}"

    def reset(self) -> None:
        self.open()

    def close(self) -> None:
        del self._executor
