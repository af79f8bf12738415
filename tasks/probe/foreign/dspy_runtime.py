"""dspy's interpreter, which runs Pyodide in Deno."""
# pyright: reportMissingImports=false

import os
import signal
from typing import Any


class Interpreter:
    """`PythonInterpreter`; it needs Deno 2, which `pip install deno` brings."""

    PACKAGES = ("dspy",)

    def open(self) -> None:
        from dspy.primitives.python_interpreter import PythonInterpreter

        self._given = {}
        self._interpreter = PythonInterpreter()
        self._interpreter.start()

    def run(self, code: str) -> str:
        try:
            return str(self._interpreter.execute(code, variables=dict(self._given)))
        except Exception as error:
            return f"{type(error).__name__}: {error}"

    def inject(self, values: dict[str, Any]) -> None:
        self._given = values

    def injected(self) -> dict[str, Any]:
        return self._given

    def kill(self) -> None:
        """Kill Deno, and begin the new session that the error asks for."""
        os.kill(self._interpreter.deno_process.pid, signal.SIGKILL)
        self.run("print(1)")
        self.close()
        self.open()

    def close(self) -> None:
        self._interpreter.shutdown()
