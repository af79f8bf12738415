"""Interpreters that end with their test, and their engines."""

import copy
import time
import weakref
from collections.abc import Callable, Iterator
from typing import Any

from carryover.tasks.runtime.backend import Runtime
from carryover.tasks.runtime.contract import CONTRACTS, Contract
from carryover.tasks.runtime.engine import Engine, StateLostError
from carryover.tasks.runtime.interpreter import Interpreter

Open = Callable[..., Interpreter]
_ENGINES: weakref.WeakKeyDictionary[Interpreter, Engine] = weakref.WeakKeyDictionary()


def engine_of(interpreter: Interpreter) -> Any:
    """Return the engine of an interpreter that a fixture opened."""
    return _ENGINES[interpreter]


def opener(runtime: Runtime) -> Iterator[Open]:
    """Yield a function that opens interpreters; end them all afterwards."""
    opened: list[Interpreter] = []
    engines: list[Engine] = []
    noting = copy.copy(runtime)
    noting.open_engine = lambda lifetime, tools: engines.append(runtime.open_engine(lifetime, tools)) or engines[-1]

    def open_one(contract: Contract | str = "persistent", tools=None, **options) -> Interpreter:
        chosen = CONTRACTS[contract] if isinstance(contract, str) else contract
        options.setdefault("instance_id", "instance")
        opened.append(noting.open_interpreter(chosen, tools or {}, **options))
        _ENGINES[opened[-1]] = engines[-1]
        return opened[-1]

    yield open_one
    for interpreter in opened:
        interpreter.close()


def wait_until_lost(interpreter: Interpreter) -> bool:
    """Talk to an interpreter between two steps until its state is lost; a minute at most."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            interpreter.verify_contract()
        except StateLostError:
            return True
        engine_of(interpreter).finish([])
    return False
