"""Carryover for library users: sessions, agent, trace warehouse, lint.

This is `carryover`: read the list below first, the public names with the modules that hold them. Names load when they
are first used.

What must stay true: `import carryover` is cheap, and works beside folders of a user's that have our rooms' names
(`tests/test_architecture.py`).
"""

from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from carryover.storage.warehouse.reader import Warehouse
    from carryover.tasks.cave.agent import Agent
    from carryover.tasks.cave.agent_spec import AgentSpec
    from carryover.tasks.cave.comparing import compare
    from carryover.tasks.cave.scripted import scripted
    from carryover.tasks.environment.block_environment import BlockEnvironment
    from carryover.tasks.families.family import Environment, Family, Lesson
    from carryover.tasks.lint.linting import lint
    from carryover.tasks.runtime.contract import Contract
    from carryover.tasks.runtime.inside.tools import ToolRuntimeException
    from carryover.tasks.runtime.runtime_spec import RuntimeSpec
    from carryover.tasks.runtime.session import session

__all__ = [
    "Agent", "AgentSpec", "BlockEnvironment", "Contract", "Environment", "Family", "Lesson", "RuntimeSpec",
    "ToolRuntimeException", "Warehouse", "compare", "lint", "scripted", "session",
]  # fmt: skip
_PLACES = {
    "Agent": "tasks.cave.agent:Agent",
    "AgentSpec": "tasks.cave.agent_spec:AgentSpec",
    "BlockEnvironment": "tasks.environment.block_environment:BlockEnvironment",
    "Contract": "tasks.runtime.contract:Contract",
    "Environment": "tasks.families.family:Environment",
    "Family": "tasks.families.family:Family",
    "Lesson": "tasks.families.family:Lesson",
    "RuntimeSpec": "tasks.runtime.runtime_spec:RuntimeSpec",
    "ToolRuntimeException": "tasks.runtime.inside.tools:ToolRuntimeException",
    "Warehouse": "storage.warehouse.reader:Warehouse",
    "compare": "tasks.cave.comparing:compare",
    "lint": "tasks.lint.linting:lint",
    "scripted": "tasks.cave.scripted:scripted",
    "session": "tasks.runtime.session:session",
}


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module 'carryover' has no attribute {name!r}; choose from {', '.join(__all__)}")
    return resolve_name(f"carryover.{_PLACES[name]}")


def __dir__() -> list[str]:
    return list(__all__)
