"""An agent's interpreter, and what ends with it."""

import secrets
from contextlib import ExitStack
from typing import NamedTuple

from carryover.tasks.runtime.backend import Runtime
from carryover.tasks.runtime.contract import Contract, as_contract
from carryover.tasks.runtime.interpreter import Interpreter
from carryover.tasks.runtime.open import open_runtime
from carryover.tasks.runtime.runtime_spec import RuntimeSpec


class OpenedInterpreter(NamedTuple):
    """An interpreter on a worker's runtime."""

    worker: Runtime
    interpreter: Interpreter
    ends: ExitStack
    """Closes the interpreter, and the runtime if it was opened for it."""


def open_interpreter(
    spec: RuntimeSpec, contract: str | Contract, name: str | None, runtime: Runtime | None
) -> OpenedInterpreter:
    """Open an interpreter on a runtime, by default on one of its own.

    The name seeds its random draws; without one they differ from agent to agent, by a salt.

    Raises:
        ValueError: No contract has that name.
    """
    promised = as_contract(contract)
    salt = secrets.token_hex(8) if name is None else ""
    with ExitStack() as opened:
        worker = runtime
        if worker is None:
            worker = open_runtime(spec.with_folder())
            opened.callback(worker.close)
        interpreter = worker.open_interpreter(
            promised, {}, instance_id=name or "agent", salt=salt, tool_call_cap=None, rules=spec
        )
        opened.callback(interpreter.close)
        return OpenedInterpreter(worker, interpreter, opened.pop_all())
