"""Connector to our backends, under either contract."""

import platform
import tempfile
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from carryover.tasks.probe.verdict import Claim
from carryover.tasks.runtime.interpreter import Interpreter
from carryover.tasks.runtime.runtime_spec import RuntimeSpec
from carryover.tasks.runtime.session import session
from carryover.tasks.traces.vocabulary import Backend

TIMEOUT_SECONDS = 5.0
"""Time limit of a block; the import of matplotlib takes seconds on a busy machine."""

REPLAY_SECONDS = 60.0
"""The same while a saved session is replayed."""


class OwnRuntime:
    """A session of the fork tree or of a kernel."""

    def __init__(
        self, contract: Claim, backend: Backend = "fork_tree", *, timeout_seconds: float = TIMEOUT_SECONDS
    ) -> None:
        self._contract = contract
        self._spec = RuntimeSpec(backend=backend, block_timeout_seconds=timeout_seconds)
        self._opened: Interpreter | None = None
        self._given: Mapping[str, Any] = {}

    def open(self) -> None:
        """Start a session."""
        self._given = {}
        self._opened = session(self._contract, spec=self._spec)

    def run(self, code: str) -> str:
        """Run a block and return output, value and error."""
        assert self._opened is not None, "open() comes first"
        done = self._opened.run(code)
        error = done.error.message if done.error else ""
        return f"{done.output}\n{done.result or ''}\n{error}"

    def version(self) -> str:
        """Return the versions of this package and of Python."""
        return f"carryover {version('carryover')}, Python {platform.python_version()}"

    def time_out(self) -> None:
        """Run a block past its limit of time."""
        self.run("while True: pass")

    def kill(self) -> None:
        """Run a block that kills its process."""
        self.run("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)")

    def resume(self) -> None:
        """Save the session, and reload it into a new one."""
        assert self._opened is not None, "open() comes first"
        with tempfile.TemporaryDirectory() as folder:
            saved = Path(folder) / "session"
            self._opened.save(saved)
            self.close()
            patient = self._spec.model_copy(update={"block_timeout_seconds": REPLAY_SECONDS})
            self._opened = session(self._contract, spec=patient)
            self._opened.inject_all(self._given)
            self._opened.reload(saved)

    def reset(self) -> None:
        """Begin a new session."""
        self.close()
        self.open()

    def inject(self, values: Mapping[str, Any]) -> None:
        """Give values to all later blocks."""
        assert self._opened is not None, "open() comes first"
        self._given = values
        self._opened.inject_all(values)

    def injected(self) -> Mapping[str, Any]:
        """Return these values as this process holds them."""
        return self._given

    def hide(self, value: str) -> None:
        """Keep a value in this process, as the host of tools does."""
        self._hidden = [value]

    def close(self) -> None:
        """End the session."""
        if self._opened is not None:
            self._opened.close()
            self._opened = None
