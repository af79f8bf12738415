"""What hostile code is let loose on: a world with something to hide, at whichever level the machine reaches.

Whatever it tries, nothing hidden is read, nothing outside is touched, and the host stays up.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from carryover.tasks.runtime.backend import Runtime
from carryover.tasks.runtime.contract import Contract
from carryover.tasks.runtime.interpreter import Interpreter
from carryover.tasks.runtime.runtime_spec import SandboxLevel

Open = Callable[..., Interpreter]
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


@dataclasses.dataclass
class Given:
    """A type that is injected."""

    amount: int = 1


def twice(amount: int) -> int:
    """Return twice the amount, in the sandbox."""
    return 2 * amount


@pytest.fixture(params=["bare", pytest.param("with_objects", marks=pytest.mark.slow)])
def open_one(open_one: Open, request: pytest.FixtureRequest) -> Open:
    """Open interpreters on either backend, with nothing but tools or with injected objects as well."""

    def open_with_objects(*arguments: Any, **options: Any) -> Interpreter:
        opened = open_one(*arguments, **options)
        opened.inject("Given", Given)
        opened.inject("given", {"one": [1, 2.5, "text", None], "more": (Given(2), b"bytes")})
        opened.inject("numbers", np.arange(1000))
        opened.inject("note", len)
        opened.inject("twice", twice, runs_in="sandbox")
        return opened

    return open_one if request.param == "bare" else open_with_objects


@pytest.fixture
def interpreter(open_one: Open, contract: Contract) -> Interpreter:
    """An interpreter on either backend, under either contract, with a world's tool."""
    return open_one(contract, {"look": World().look})


@pytest.fixture
def walled(interpreter: Interpreter, runtime: Runtime) -> tuple[Interpreter, SandboxLevel]:
    """The same, and the level that this machine reached."""
    return interpreter, runtime.sandbox_level
