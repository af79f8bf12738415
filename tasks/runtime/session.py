"""An interpreter with its own worker, for one's own agent."""

import contextlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast

from carryover.tasks.runtime.contract import Contract, as_contract
from carryover.tasks.runtime.interpreter import Interpreter
from carryover.tasks.runtime.open import open_runtime
from carryover.tasks.runtime.runtime_spec import RuntimeSpec
from carryover.tasks.traces.vocabulary import ContractName

Tools = Mapping[str, Callable[..., Any]] | Iterable[Callable[..., Any]]


def session(
    contract: str | Contract = ContractName.PERSISTENT,
    tools: Tools = (),
    *,
    spec: RuntimeSpec | None = None,
    seed: str = "",
    tool_call_cap: int | None = None,
) -> Interpreter:
    """Open a sandboxed interpreter, for a `with` statement.

    Args:
        contract: A name (`persistent`, `stateless`, `recent-3`, ...), or a `Contract` of one's own.
        tools: Functions that blocks call and this process runs, as a list or by name.
        spec: Backend, sandbox level and limits.
        seed: Seeds `random` and NumPy, together with the number of the block.
        tool_call_cap: Tool calls that a block may make; None for no cap.

    Raises:
        TypeError: `tools` is a function, or holds what is none.
        ValueError: No contract has that name, a tool has none, or two tools have the same.
        SandboxUnavailableError: The machine does not reach the sandbox level that the spec asks for.
    """
    chosen = as_contract(contract)
    named = _by_name(tools)
    with contextlib.ExitStack() as opened:
        runtime = open_runtime((spec or RuntimeSpec()).with_folder())
        opened.callback(runtime.close)
        interpreter = runtime.open_interpreter(chosen, {}, instance_id=seed, tool_call_cap=tool_call_cap)
        interpreter.closes_last.push(opened.pop_all())
    with contextlib.ExitStack() as opened:
        opened.callback(interpreter.close)
        interpreter.offer(named)
        opened.pop_all()
    return interpreter


def _by_name(tools: Tools) -> Mapping[str, Callable[..., Any]]:
    if callable(tools):
        name = getattr(tools, "__name__", "function")
        raise TypeError(f"tools is {name!r} itself; pass tools=[{name}]")
    if isinstance(tools, Mapping):
        by_name = cast("Mapping[str, Callable[..., Any]]", tools)
        _refuse_others(by_name.values())
        return by_name
    functions = list(tools)
    _refuse_others(functions)
    named: dict[str, Callable[..., Any]] = {}
    for function in functions:
        name = getattr(function, "__name__", "")
        if not name.isidentifier():
            raise ValueError(f"{function!r:.100} has no name to call it by; pass tools={{'name': function}}")
        if name in named:
            raise ValueError(f"two tools are named {name!r}; pass tools={{'name': function}}")
        named[name] = function
    return named


def _refuse_others(functions: Iterable[Any]) -> None:
    for function in functions:
        if not callable(function):
            raise TypeError(f"tool {function!r:.100} is no function; pass the function itself")
