"""Runtimes that a whole test session shares, and interpreters that end with their test."""

import contextlib
import copy
import json
import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from carryover.tasks.runtime.backend import Runtime
from carryover.tasks.runtime.contract import CONTRACTS, Contract
from carryover.tasks.runtime.interpreter import Interpreter
from carryover.tasks.runtime.open import open_runtime
from carryover.tasks.runtime.process.node import Node
from carryover.tasks.runtime.process.watcher import WATCHER
from carryover.tasks.runtime.runtime_spec import RuntimeSpec, SandboxLevel
from carryover.tasks.runtime.sandbox.level import LEVELS
from tests.tasks.runtime.opened import Open, engine_of, opener

Limited = Callable[..., contextlib.AbstractContextManager[None]]

LITTLE_SECONDS = 1.5


def pytest_report_header() -> str:
    from carryover.tasks.runtime.sandbox.level import reach_level

    return f"sandbox: {reach_level()}"


def session_runtime(**fields):
    """Return a fixture that opens a runtime once and closes it when the session ends."""

    @pytest.fixture(scope="session")
    def opened() -> Iterator[Runtime]:
        runtime = open_runtime(RuntimeSpec(**fields))
        yield runtime
        runtime.close()

    return opened


fork_tree = session_runtime()
jupyter = session_runtime(backend="jupyter")

SCRATCH_BYTES = 1 << 20
fork_tree_with_files = session_runtime(scratch_limit_bytes=SCRATCH_BYTES)
jupyter_with_files = session_runtime(backend="jupyter", scratch_limit_bytes=SCRATCH_BYTES)

BACKENDS = ["fork_tree", pytest.param("jupyter", marks=pytest.mark.kernel)]


@pytest.fixture(params=BACKENDS)
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


@pytest.fixture(params=BACKENDS)
def open_files(request: pytest.FixtureRequest) -> Iterator[Open]:
    """Open interpreters with a scratch folder on either backend."""
    yield from opener(request.getfixturevalue(f"{request.param}_with_files"))


@pytest.fixture
def open_fork_tree_files(fork_tree_with_files: Runtime) -> Iterator[Open]:
    """Open interpreters with a scratch folder on the fork tree."""
    yield from opener(fork_tree_with_files)


@pytest.fixture
def interpreter(open_one: Open, contract: Contract) -> Interpreter:
    """An interpreter of either contract on either backend."""
    return open_one(contract)


@pytest.fixture
def open_with(runtime: Runtime) -> Iterator[Open]:
    """Open interpreters on either backend with other fields of the spec, of those that the host alone heeds."""
    openers = []

    def open_with(contract: Contract | str, tools=None, **fields) -> Interpreter:
        other: Any = copy.copy(runtime)
        other.spec = other.spec.model_copy(update=fields)
        openers.append(opener(other))
        return next(openers[-1])(contract, tools)

    yield open_with
    for opened in openers:
        next(opened, None)


@pytest.fixture
def open_fork_tree(fork_tree: Runtime) -> Iterator[Open]:
    """Open interpreters on the fork tree."""
    yield from opener(fork_tree)


@pytest.fixture
def open_jupyter(jupyter: Runtime) -> Iterator[Open]:
    """Open interpreters on Jupyter's kernels."""
    yield from opener(jupyter)


@pytest.fixture
def limited() -> Limited:
    """Give the blocks within little time, and their interrupt more than any machine takes.

    Blocks before and after have the time that they need, however slow the machine is.
    """

    @contextlib.contextmanager
    def limited(interpreter: Any, seconds: float = LITTLE_SECONDS, grace_seconds: float = 20.0) -> Iterator[None]:
        engine = engine_of(interpreter)
        spec = engine.spec
        limits = {"block_timeout_seconds": seconds, "interrupt_grace_seconds": grace_seconds}
        engine.spec = spec.model_copy(update=limits)
        yield
        engine.spec = spec

    return limited


@pytest.fixture
def roots(monkeypatch: pytest.MonkeyPatch) -> set[Node]:
    """The roots of episodes whose memory was watched between steps."""
    watched: set[Node] = set()
    watch = WATCHER.watch

    def noting(root: Node, limit_bytes: int) -> None:
        watched.add(root)
        watch(root, limit_bytes)

    monkeypatch.setattr(WATCHER, "watch", noting)
    return watched


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


@pytest.fixture(autouse=True)
def told_ends(caplog: pytest.LogCaptureFixture) -> None:
    """Show with a failure why an interpreter ended."""
    caplog.set_level(logging.INFO, "carryover.tasks.runtime")


@pytest.fixture
def skip_below() -> Callable[[SandboxLevel, SandboxLevel], None]:
    """Skip a test where the machine's level is too low to hold back what it tries: nothing can be shown there."""

    def skip(needed: SandboxLevel, reached: SandboxLevel) -> None:
        if LEVELS.index(reached) > LEVELS.index(needed):
            pytest.skip(f"sandbox level {reached}; this is held back from {needed} on")

    return skip
