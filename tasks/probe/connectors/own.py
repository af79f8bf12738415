"""Connector to our fork tree, under either contract."""

from carryover.tasks.probe.verdict import Claim
from carryover.tasks.runtime.interpreter import Interpreter
from carryover.tasks.runtime.session import session


class OwnRuntime:
    """A session of the fork tree."""

    def __init__(self, contract: Claim) -> None:
        self._contract = contract
        self._opened: Interpreter | None = None

    def open(self) -> None:
        """Start a session."""
        self._opened = session(self._contract)

    def run(self, code: str) -> str:
        """Run a block and return output, value and error."""
        assert self._opened is not None, "open() comes first"
        done = self._opened.run(code)
        error = done.error.message if done.error else ""
        return f"{done.output}\n{done.result or ''}\n{error}"

    def reset(self) -> None:
        """Begin a new session."""
        self.close()
        self.open()

    def close(self) -> None:
        """End the session."""
        if self._opened is not None:
            self._opened.close()
            self._opened = None
