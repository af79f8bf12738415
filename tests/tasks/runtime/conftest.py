"""Runtimes that a whole test session shares, and interpreters that end with their test."""

import json
from collections.abc import Callable, Iterator

import pytest

from tasks.runtime.open import open_runtime
from tasks.runtime.protocol import CONTRACTS, Contract, Interpreter, Runtime
from tasks.runtime.spec import RuntimeSpec

SPEC = RuntimeSpec(block_timeout_seconds=1.5, interrupt_grace_seconds=0.3)

Open = Callable[..., Interpreter]


def pytest_report_header() -> str:
    from tasks.runtime.sandbox.level import reach_level

    reached = reach_level()
    return f"sandbox: {reached.advice or reached.level}"


@pytest.fixture(scope="session")
def fork_tree() -> Iterator[Runtime]:
    runtime = open_runtime(SPEC)
    yield runtime
    runtime.close()


@pytest.fixture(scope="session")
def jupyter() -> Iterator[Runtime]:
    runtime = open_runtime(SPEC.model_copy(update={"backend": "jupyter"}))
    yield runtime
    runtime.close()


@pytest.fixture(params=["fork_tree", pytest.param("jupyter", marks=pytest.mark.kernel)])
def runtime(request: pytest.FixtureRequest) -> Runtime:
    """Either backend."""
    return request.getfixturevalue(request.param)


@pytest.fixture(params=["persistent", "stateless"])
def contract(request: pytest.FixtureRequest) -> Contract:
    """Either contract of the study."""
    return CONTRACTS[request.param]


@pytest.fixture
def open_one(runtime: Runtime) -> Iterator[Open]:
    """Open interpreters on either backend."""
    yield from opener(runtime)


@pytest.fixture
def open_fork_tree(fork_tree: Runtime) -> Iterator[Open]:
    """Open interpreters on the fork tree."""
    yield from opener(fork_tree)


def opener(runtime: Runtime) -> Iterator[Open]:
    opened: list[Interpreter] = []

    def open_one(contract: Contract | str = "persistent", tools=None, **options) -> Interpreter:
        chosen = CONTRACTS[contract] if isinstance(contract, str) else contract
        options.setdefault("instance_id", "instance")
        opened.append(runtime.open_interpreter(chosen, tools or {}, **options))
        return opened[-1]

    yield open_one
    for interpreter in opened:
        interpreter.close()


ITEMS = {"item_a": {"class": "A", "value": 7, "weight": 3}, "item_b": {"class": "B", "value": 4, "weight": 2}}


def inspect(item_id: str) -> str:
    """Look at an item."""
    return json.dumps(ITEMS[item_id])


def list_items() -> str:
    """Name all items."""
    return json.dumps(sorted(ITEMS))


@pytest.fixture
def tools() -> dict[str, Callable[..., str]]:
    """Two tools of a small world."""
    return {"inspect": inspect, "list_items": list_items}
