import importlib.util
from pathlib import Path
from types import ModuleType

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let a measurement be shorter or truer; known where this folder or a file of it is named on the command line."""
    parser.addoption("--dilation", type=float, help="by what the simulated endpoint shortens its waiting")
    parser.addoption("--instances", type=int, help="instances per bucket of the paper's evaluation")


@pytest.fixture(scope="session")
def playing() -> ModuleType:
    """The module beside this one that plays the episodes."""
    return _load("playing")


@pytest.fixture(scope="session")
def measuring() -> ModuleType:
    """The module beside this one that evaluates what was measured."""
    return _load("measuring")


@pytest.fixture(scope="session")
def simulated_endpoint() -> ModuleType:
    """The module beside this one that is the endpoint when it is run."""
    return _load("simulated_endpoint")


def _load(name: str) -> ModuleType:
    specification = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module
