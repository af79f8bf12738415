"""The runtime that a name, a class or a command means."""

import inspect
import re
from types import ModuleType
from typing import Any

from carryover.tasks.probe.connectors.foreign import FOREIGN, ForeignRuntime
from carryover.tasks.probe.connectors.piped import split_command
from carryover.tasks.probe.protocol import ProbedRuntime
from carryover.tasks.services.errors import UserError
from carryover.tasks.services.own_objects import WantedKind, import_object

HERE = ("persistent", "stateless", "persistent-jupyter", "stateless-jupyter", "ipykernel", "ipykernel-reset")
"""Runtimes of this environment."""
MCP = "mcp:"
_CLASS = re.compile(r"(?:[A-Za-z_][\w.]*|\S+\.py):[A-Za-z_]\w*")


def choose_runtime(wanted: str, python: str | None = None, tool: str | None = None) -> ProbedRuntime:
    """Return the runtime, not opened, of a name, class or command.

    Args:
        wanted: A name of `HERE` or `FOREIGN`, `MODULE:CLASS`, `FILE.py:CLASS`, `mcp:` with a command or an address, or
            a command.
        python: Interpreter of the environment that holds the package of a foreign runtime.
        tool: Tool of an MCP server that has several.
    """
    if wanted in HERE:
        return _runtime_here(wanted)
    if wanted in FOREIGN:
        return _foreign(wanted, python)
    if wanted.startswith(MCP):
        return _mcp_server(wanted.removeprefix(MCP).strip(), tool)
    if _CLASS.fullmatch(wanted):
        return _own_class(wanted)
    words = split_command(wanted)
    if len(words) < 2 and "/" not in wanted:
        names = ", ".join((*HERE, *FOREIGN))
        raise UserError(
            f"unknown runtime {wanted!r}; choose from {names}, {MCP}SERVER, MODULE:CLASS, FILE.py:CLASS, or a command"
        )
    from carryover.tasks.probe.connectors.command import CommandRuntime

    return CommandRuntime(words)


def _runtime_here(wanted: str) -> ProbedRuntime:
    if wanted.startswith("ipykernel"):
        from carryover.tasks.probe.connectors.kernel import ClearedKernelRuntime, KernelRuntime

        return ClearedKernelRuntime() if wanted == "ipykernel-reset" else KernelRuntime()
    from carryover.tasks.probe.connectors.own import OwnRuntime

    contract = "stateless" if wanted.startswith("stateless") else "persistent"
    return OwnRuntime(contract, "jupyter" if wanted.endswith("jupyter") else "fork_tree")


def _mcp_server(target: str, tool: str | None) -> ProbedRuntime:
    if not target:
        raise UserError(f"{MCP} names no server; write a command or an address after it")
    from carryover.tasks.probe.connectors.mcp import McpRuntime

    return McpRuntime(target, tool)


def _foreign(wanted: str, python: str | None) -> ProbedRuntime:
    if python is None:
        raise UserError(f"{wanted} runs in an environment of its own; name its interpreter: --python ENV/bin/python")
    return ForeignRuntime(wanted, python)


def _own_class(wanted: str) -> ProbedRuntime:
    """Import a class and return an instance of it."""
    try:
        found: Any = import_object(wanted, WantedKind("no runtime", _is_runtime))
    except UserError:
        raise
    except Exception as error:  # a module of others may raise anything
        raise UserError(f"cannot import {wanted!r}: {type(error).__name__}: {error}") from error
    try:
        runtime = found()
    except Exception as error:  # and so may its class
        raise UserError(f"cannot make {wanted!r}: {type(error).__name__}: {error}; it takes no arguments") from error
    if missing := _missing_methods(runtime):
        raise UserError(f"{wanted!r} has no method {missing[0]!r}; offer open(), run(code) and close()")
    return runtime


def _is_runtime(value: object, module: ModuleType) -> bool:
    """Tell whether a module's value is a class of its own that can be probed."""
    return inspect.isclass(value) and value.__module__ == module.__name__ and not _missing_methods(value)


def _missing_methods(runtime: object) -> list[str]:
    return [name for name in ("open", "run", "close") if not callable(getattr(runtime, name, None))]
