"""What several tests of flows start once."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from carryover.flows.cli.prefect_server import own_server
from tests.flows.flow_process import run_flow

TRAIN_COUNT, EVALUATION_COUNT = 12, 2
STUDY = ("--scale", "smoke", "--train-count", str(TRAIN_COUNT), "--evaluation-count", str(EVALUATION_COUNT))


@pytest.fixture(scope="session")
def prefect_api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a Prefect server for flows that need not show how they start their own."""
    folder = tmp_path_factory.mktemp("prefect")
    with own_server(folder, folder / "server.log") as address:
        yield address


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
