"""The runtime that a name, a class or a command means."""

import re
import shlex
import sys
from pathlib import Path
from pkgutil import resolve_name

from carryover.tasks.probe.protocol import ProbedRuntime
from carryover.tasks.services.errors import UserError

NAMES = ("persistent", "stateless", "ipykernel")
_CLASS = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")


def choose_runtime(wanted: str) -> ProbedRuntime:
    """Return a runtime of `NAMES`, of `MODULE:CLASS`, or of a command; it is not opened."""
    if wanted in ("persistent", "stateless"):
        from carryover.tasks.probe.connectors.own import OwnRuntime

        return OwnRuntime("stateless" if wanted == "stateless" else "persistent")
    if wanted == "ipykernel":
        from carryover.tasks.probe.connectors.kernel import KernelRuntime

        return KernelRuntime()
    if _CLASS.fullmatch(wanted):
        return _own_class(wanted)
    words = shlex.split(wanted)
    if len(words) < 2 and "/" not in wanted:
        raise UserError(f"unknown runtime {wanted!r}; choose from {', '.join(NAMES)}, MODULE:CLASS, or a command")
    from carryover.tasks.probe.connectors.command import CommandRuntime

    return CommandRuntime(words)


def _own_class(wanted: str) -> ProbedRuntime:
    """Import a class, from the working directory too, and return an instance of it."""
    folder = str(Path.cwd())
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        found = resolve_name(wanted)
    except (ImportError, AttributeError) as error:
        raise UserError(f"cannot import {wanted!r}: {error}; name MODULE:CLASS") from error
    runtime = found()
    missing = [name for name in ("open", "run", "close") if not callable(getattr(runtime, name, None))]
    if missing:
        raise UserError(f"{wanted!r} has no method {missing[0]!r}; offer open(), run(code) and close()")
    return runtime
