"""The backend behind the interpreter decides nothing that the study's tables say."""

import re
from pathlib import Path

import polars as pl
import pytest

from storage.warehouse import Warehouse
from tests.flows.flow_process import run_flow

TRAIN_COUNT, EVALUATION_COUNT = 12, 2
STUDY = ("--scale", "smoke", "--train-count", str(TRAIN_COUNT), "--evaluation-count", str(EVALUATION_COUNT))
BY_CHANCE = r"^.*_seconds$|^cached_prompt_tokens$"
"""Times, and how much of a prompt the server still had: that depends on which episode came first."""
IDENTITIES = ("run_id", "plan_digest", "episode_id")
CELL = ("purpose", "base", "train_contract", "runtime_contract", "instance_id")


def run_smoke(home: Path, backend: str) -> str:
    """Run the smoke study in a data folder of its own and return the tables that it printed."""
    printed = run_flow(home, "reproduce_study", *STUDY, "--backend", backend)
    return printed[printed.index("smoke: smoke") : printed.index("\nThe warehouse is ")]


def without_times(printed: str) -> list[str]:
    """Return the printed lines without the plan's digest, and the rows of seconds and cached tokens."""
    lines = re.sub(r"\(plan \w+\)", "", printed).splitlines()
    return [line for line in lines if "seconds" not in line and "cached" not in line]


def episode_metrics(home: Path) -> pl.DataFrame:
    """Return the mart that every table reads, in an order that no id decides."""
    with Warehouse.open(home / "warehouse.duckdb") as warehouse:
        rows = warehouse.sql("select * from marts.episode_metrics").polars()
    return rows.select(pl.exclude(BY_CHANCE)).drop(IDENTITIES).sort(CELL)


@pytest.mark.kernel
@pytest.mark.prefect
@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_the_smoke_study_gives_the_same_tables_on_either_backend(tmp_path):
    printed = {backend: run_smoke(tmp_path / backend, backend) for backend in ("fork_tree", "jupyter")}
    metrics = [episode_metrics(tmp_path / backend) for backend in printed]
    assert metrics[0].height == 2 * TRAIN_COUNT + 8 * EVALUATION_COUNT
    assert metrics[1].equals(metrics[0])
    assert without_times(printed["jupyter"]) == without_times(printed["fork_tree"])
