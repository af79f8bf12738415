"""Connectors to runtimes of other packages in their own environments."""

import os
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from carryover.tasks.probe.connectors.command import CommandRuntime
from carryover.tasks.services.errors import UserError

FOREIGN = {
    "smolagents": ("smolagents_runtimes", "LocalExecutor"),
    "openenv": ("smolagents_runtimes", "OpenEnvExecutor"),
    "cave-agent-ipython": ("cave_agent_runtimes", "IPython"),
    "cave-agent-ipykernel": ("cave_agent_runtimes", "IPyKernel"),
    "rlms": ("rlms_runtimes", "LocalREPL"),
    "rlms-ipython": ("rlms_runtimes", "IPythonREPL"),
    "dspy": ("dspy_runtime", "Interpreter"),
    "pydantic-monty": ("monty_runtime", "Session"),
    "open-interpreter": ("open_interpreter_runtime", "Computer"),
}
"""By name, module and class in `tasks/probe/foreign`."""
_SERVE = Path(__file__).parents[1] / "foreign" / "serve.py"
START_SECONDS = 120


class ForeignRuntime(CommandRuntime):
    """A runtime of another package, run by its own environment's Python."""

    def __init__(self, name: str, python: str) -> None:
        module, runtime = FOREIGN[name]
        super().__init__([python, str(_SERVE), module, runtime])
        self._name = name
        self._described: Mapping[str, Any] = {}

    def open(self) -> None:
        """Start the runtime and ask for its version and optional methods."""
        super().open()
        try:
            self._described = self.ask({"do": "describe"}, START_SECONDS)
        except UserError as error:
            raise UserError(f"cannot open {self._name} with {self._words[0]}; does it hold the package?") from error

    def version(self) -> str:
        """Return package and version."""
        return self._described["version"]

    def offers(self) -> frozenset[str]:
        """Return the runtime's optional methods; a kill always works."""
        return frozenset(self._described["offers"]) | {"kill"}

    def reset(self) -> None:
        """Reset the runtime."""
        self.ask({"do": "reset"})

    def time_out(self) -> None:
        """Run a block past the runtime's limit of time."""
        self.ask({"do": "time_out"})

    def resume(self) -> None:
        """Save the runtime's state and load it into a new session."""
        self.ask({"do": "resume"})

    def kill(self) -> None:
        """Kill the process that runs blocks, or else serves the runtime."""
        if "kill" in self._described["offers"]:
            self.ask({"do": "kill"})
            return
        assert self._process is not None
        os.killpg(self._process.pid, signal.SIGKILL)
        self.close()
        self.open()

    def inject(self, values: Mapping[str, Any]) -> None:
        """Give values to all later blocks."""
        self.ask({"do": "inject", "values": dict(values)})

    def injected(self) -> Mapping[str, Any]:
        """Return these values as the runtime's host holds them."""
        return self.ask({"do": "injected"})["values"]

    def hide(self, value: str) -> None:
        """Keep a value in the process that serves the runtime."""
        self.ask({"do": "hide", "value": value})
