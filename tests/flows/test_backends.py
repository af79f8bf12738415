"""The backend behind the interpreter decides nothing that the study's tables say."""

import re
from pathlib import Path

import polars as pl
import pytest

from storage.warehouse import Warehouse
from tests.flows.flow_process import run_flow

BY_CHANCE = r"^.*_seconds$|^cached_prompt_tokens$"
"""Times, and how much of a prompt the server still had: that depends on which episode came first."""
IDENTITIES = ("run_id", "plan_digest", "episode_id")
CELL = ("purpose", "base", "train_contract", "runtime_contract", "instance_id")


def tables_of(printed: str) -> str:
    """Return the tables among what a study printed."""
    return printed[printed.index("smoke: smoke") : printed.index("\nThe warehouse is ")]


@pytest.mark.kernel
@pytest.mark.slow
@pytest.mark.prefect
@pytest.mark.timeout(1500)
def test_a_study_ends_with_its_tables_a_picture_and_three_queries(smoke_study):
    wanted = [
        *(f"table_{number:02d}: Table {number}: " for number in (1, 2, 3, 5, 6, 7, 8, 9, 10)),
        *("failure_percentages: ", "interaction: ", "token_ratios: ", "token_sensitivity: "),
        "main: base scratch, declared, header names, small (smoke, ",
        "Episodes of models end after 4 turns of 64 tokens",
    ]
    assert [title for title in wanted if f"\n{title}" not in smoke_study.printed] == []
    assert "runs persistent" in smoke_study.printed
    assert smoke_study.printed.count("carryover query ") == 3
    assert f"The warehouse is {smoke_study.home}" in smoke_study.printed


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


@pytest.mark.kernel
@pytest.mark.prefect
@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_the_smoke_study_gives_the_same_tables_on_either_backend(smoke_study, prefect_api, tmp_path):
    printed = run_flow(tmp_path, "run", *smoke_study.options, "--backend", "jupyter", server=prefect_api)
    metrics, others = episode_metrics(smoke_study.home), episode_metrics(tmp_path)
    assert metrics.height == 2 * 12 + 8 * 2
    assert others.equals(metrics)
    assert without_times(tables_of(printed)) == without_times(tables_of(smoke_study.printed))
