"""Carryover for library users: interpreter sessions, the trace warehouse, the lint, the agent.

Names load when they are first used, so that `import carryover` stays cheap.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from carryover.storage.warehouse.reader import Warehouse

__all__ = ["Warehouse"]
_MODULES = {"Warehouse": "carryover.storage.warehouse.reader"}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'carryover' has no attribute {name!r}; choose from {', '.join(__all__)}")
    return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
