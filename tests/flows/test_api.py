"""The names of `import carryover` are those that it lists, and each is there."""

from importlib import import_module

import pytest

import carryover

PLACES = {
    "Agent": "tasks.cave.agent",
    "AgentSpec": "tasks.cave.agent_spec",
    "BlockEnvironment": "tasks.environment.block_environment",
    "Contract": "tasks.runtime.contract",
    "Environment": "tasks.families.family",
    "Family": "tasks.families.family",
    "Lesson": "tasks.families.family",
    "RuntimeSpec": "tasks.runtime.runtime_spec",
    "ToolRuntimeException": "tasks.runtime.inside.tools",
    "Warehouse": "storage.warehouse.reader",
    "compare": "tasks.cave.comparing",
    "lint": "tasks.lint.linting",
    "scripted": "tasks.cave.scripted",
    "session": "tasks.runtime.session",
}


def test_every_listed_name_loads_from_its_module():
    assert sorted(carryover.__all__) == dir(carryover) == sorted(PLACES)
    for name, module in PLACES.items():
        assert getattr(carryover, name) is getattr(import_module(f"carryover.{module}"), name)


def test_an_unknown_name_is_told_with_the_known_ones():
    with pytest.raises(AttributeError, match=r"no attribute 'Sessoin'; choose from Agent, AgentSpec, .*, session$"):
        _ = carryover.Sessoin  # pyright: ignore[reportAttributeAccessIssue]
