"""Builtins of the runtime's own.

A block that rebinds `builtins.len` bends only other code.

Imported first of all; every module of this package that is loaded afterwards uses a copy of the builtins.
"""

import builtins
import sys
from importlib.machinery import PathFinder
from typing import Any

_PACKAGE = f"{__name__.rpartition('.')[0]}."
_OWN = dict(builtins.__dict__)


class _Finder:
    """Finds this package's modules as Python does, with the copy."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:
        """Return the specification of a module of this package."""
        if not fullname.startswith(_PACKAGE):
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def execute_apart(module: Any) -> None:
            module.__dict__["__builtins__"] = _OWN
            execute(module)

        spec.loader.exec_module = execute_apart
        return spec


def install() -> None:
    """Let modules of this package use the copy from now on."""
    sys.meta_path.insert(0, _Finder())
