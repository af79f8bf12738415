"""The backend behind the interpreter decides nothing that the study's tables say."""

import re
from pathlib import Path

import polars as pl
import pytest

from carryover.storage.warehouse.reader import Warehouse
from tests.flows.flow_process import run_flow

BY_CHANCE = r"^.*_seconds$|^cached_prompt_tokens$"
"""Times, and how much of a prompt the server still had: that depends on which episode came first."""
IDENTITIES = ("run_id", "plan_digest", "episode_id")
CELL = ("purpose", "base", "train_contract", "runtime_contract", "instance_id")


@pytest.mark.kernel
@pytest.mark.slow
@pytest.mark.prefect
@pytest.mark.timeout(1500)
def test_a_study_ends_with_its_finding_on_one_screen(smoke_study):
    lines = smoke_study.printed.strip().splitlines()
    assert lines[0].startswith("smoke: smoke, ")
    assert lines[-1] == f"warehouse: {smoke_study.home / 'warehouse.duckdb'}"
    assert max(map(len, lines[:-1])) <= 100
    assert len(lines) <= 50
    assert "carryover tables" in smoke_study.printed


def without_times(printed: str) -> list[str]:
    """Return the printed lines without the ids of plan and training data, and the rows of seconds and cached tokens.

    A column's width goes with them, as one of those rows may have its widest cell: words are kept, and no frames.
    """
    lines = re.sub(r"\b[0-9a-f]{16}\b|[\u2500-\u257f]+", " ", printed).splitlines()
    return [" ".join(line.split()) for line in lines if "seconds" not in line and "cached" not in line]


def episode_metrics(home: Path) -> pl.DataFrame:
    """Return the mart that every table reads, in an order that no id decides."""
    with Warehouse.open(home / "warehouse.duckdb") as warehouse:
        rows = warehouse.sql("select * from marts.episode_metrics").polars()
    return rows.select(pl.exclude(BY_CHANCE)).drop(IDENTITIES).sort(CELL)


@pytest.mark.long
@pytest.mark.kernel
@pytest.mark.prefect
@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_the_smoke_study_gives_the_same_tables_on_either_backend(smoke_study, prefect_api, tmp_path):
    run_flow(tmp_path, "run", *smoke_study.options, "--backend", "jupyter", server=prefect_api)
    metrics, others = episode_metrics(smoke_study.home), episode_metrics(tmp_path)
    assert metrics.height == 2 * 12 + 10 * 2
    assert others.equals(metrics)
    printed, others_printed = (run_flow(home, "tables") for home in (smoke_study.home, tmp_path))
    assert without_times(others_printed) == without_times(printed)
