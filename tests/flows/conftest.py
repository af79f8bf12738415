"""What several tests of flows start once."""

import ctypes
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, NamedTuple

import pytest

from carryover.flows.cli.machine.prefect_server import own_server
from carryover.tasks.runtime.process.descendants import descendants
from tests.empty_warehouse import copied_warehouses
from tests.flows.deploying import started_server
from tests.flows.flow_process import run_flow
from tests.flows.processes import alive, command_line

TRAIN_COUNT, EVALUATION_COUNT = 12, 2
STUDY = ("--scale", "smoke", "--train-count", str(TRAIN_COUNT), "--evaluation-count", str(EVALUATION_COUNT))
STRAY_SECONDS = 120.0
"""How long processes may take to notice that who started them is gone."""
SET_CHILD_SUBREAPER = 36
"""PR_SET_CHILD_SUBREAPER of Linux's prctl(2)."""


@pytest.fixture(scope="module", autouse=True)
def new_warehouses_are_copies() -> Iterator[None]:
    """Merges begin new warehouses as copies of an empty one."""
    with copied_warehouses():
        yield


@pytest.fixture(scope="session")
def prefect_api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a Prefect server for flows that need not show how they start their own."""
    folder = tmp_path_factory.mktemp("prefect")
    with own_server(folder, folder / "server.log") as address:
        yield address


@pytest.fixture
def scheduling_server(tmp_path: Path) -> Iterator[dict[str, str]]:
    """The environment that reaches a Prefect server with its services, scheduling among them."""
    with started_server(tmp_path) as environment:
        yield environment


class Study(NamedTuple):
    """A smoke study that has run."""

    options: tuple[str, ...]
    """What it was started with."""
    home: Path
    """Its data folder, to be copied by whoever adds to it."""
    printed: str


@pytest.fixture(scope="session")
def smoke_study(prefect_api: str, tmp_path_factory: pytest.TempPathFactory) -> Study:
    """A smoke study of 12 training and 2 evaluation instances."""
    home = tmp_path_factory.mktemp("study") / "data"
    return Study(STUDY, home, run_flow(home, "run", *STUDY, server=prefect_api))


@pytest.fixture
def strays(tmp_path, monkeypatch) -> Iterator[Callable[[], set[str]]]:
    """Command lines of processes that a test started and that do not end, and sockets in the folder for such.

    Who loses its parent becomes a child of the process that tests, and so is seen.
    """
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    before = set(descendants(os.getpid()))
    ctypes.CDLL(None).prctl(SET_CHILD_SUBREAPER, 1)

    def left() -> set[str]:
        deadline = time.monotonic() + STRAY_SECONDS
        while (living := alive(before)) and time.monotonic() < deadline:
            time.sleep(0.2)
        sockets = {str(path) for path in tmp_path.rglob("*") if path.is_socket()}
        return sockets | {command_line(process) for process in living}

    yield left
    for process in alive(before):
        os.kill(process, signal.SIGKILL)
    ctypes.CDLL(None).prctl(SET_CHILD_SUBREAPER, 0)


@pytest.fixture
def steps(monkeypatch) -> Callable[..., list[Any]]:
    """Replace steps of a flow's module by name; return the list of their calls to come."""

    def replace(module: ModuleType, **results: Any) -> list[Any]:
        calls: list[Any] = []
        for name, result in results.items():
            monkeypatch.setattr(module, name, _step(name, result, calls))
        return calls

    return replace


def _step(name: str, result: Any, calls: list[Any]) -> Callable[..., Any]:
    def step(*arguments: Any, **options: Any) -> Any:
        calls.append((name, *arguments, options) if options else (name, *arguments))
        if callable(result):
            return result(*arguments, **options)
        return result

    def submit(*arguments: Any, **options: Any) -> SimpleNamespace:
        played = step(*arguments, **options)
        return SimpleNamespace(result=lambda: played)

    step.submit = submit  # pyright: ignore[reportFunctionMemberAccess]
    return step


@pytest.fixture
def own_home(tmp_path, monkeypatch) -> Path:
    """A data folder of the test's own."""
    monkeypatch.setenv("CARRYOVER_HOME", str(tmp_path))
    monkeypatch.delenv("CARRYOVER_LANDING", raising=False)
    return tmp_path
