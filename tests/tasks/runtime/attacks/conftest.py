"""What hostile code is let loose on: a world with something to hide, at whichever level the machine reaches.

Whatever it tries, nothing hidden is read, nothing outside is touched, and the host stays up.
"""

from collections.abc import Callable

import pytest

from carryover.tasks.runtime.interpreter import Interpreter
from carryover.tasks.runtime.protocol import Contract, Runtime, SandboxLevel

SECRET = "hidden-value-4711"


class World:
    """A tool world with something to hide."""

    def __init__(self) -> None:
        self.hidden = {"item": SECRET}

    def look(self, name: str) -> str:
        """Look at a name."""
        return f"{name}: {len(self.hidden)}"


@pytest.fixture
def secret() -> str:
    """What no block may ever see."""
    return SECRET


@pytest.fixture
def interpreter(open_one: Callable[..., Interpreter], contract: Contract) -> Interpreter:
    """An interpreter on either backend, under either contract."""
    return open_one(contract, {"look": World().look})


@pytest.fixture
def walled(interpreter: Interpreter, runtime: Runtime) -> tuple[Interpreter, SandboxLevel]:
    """The same, and the level that this machine reached."""
    return interpreter, runtime.sandbox_level
