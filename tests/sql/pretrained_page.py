"""The page on pretrained models, and its kept rows."""

import csv
from importlib.resources import files
from pathlib import Path

import polars as pl

from carryover.tasks.stages.results import EPISODES
from tests.flows.cli.calling import run
from tests.sql.kept_results import kept_table

FOLDER = Path(str(files("carryover.sql") / "results" / "pretrained"))
GPU_FOLDER = FOLDER.with_name("pretrained_gpu")
AGAIN = FOLDER.with_name("pretrained_gpu_again")
QWEN = FOLDER.with_name("pretrained_qwen")
EVERY = (FOLDER, GPU_FOLDER, AGAIN, QWEN)
PAGE = (FOLDER.parent / "pretrained.md").read_text(encoding="utf-8")
CPU_COMMAND, GPU_COMMAND = PAGE.split("carryover run ")[1].split("## Qwen")[0].split("gpu_bundle.py pack ")
PROSE = " ".join(PAGE.split())
CELLS = ("P->P", "P->S", "S->P", "S->S")
HOME = ("P->P", "S->P", "S->S")
"""Cells of runtimes in which an adapter finds what it expects."""
LIMIT = 24


def table(name: str, folder: Path = FOLDER) -> pl.DataFrame:
    return kept_table(folder.name, name)


def evaluated(condition: str, folder: Path = FOLDER) -> pl.DataFrame:
    kept = pl.read_parquet(folder / EPISODES)
    return kept.filter(base="hub", purpose="evaluation", condition=condition, is_counted=True)


def row_of(name: str, folder: Path = FOLDER, **where: str) -> dict[str, object]:
    (row,) = table(name, folder).filter(**where).rows(named=True)
    return row


def claims_of(folder: Path) -> tuple[dict[str, str], str]:
    """Return each claim's verdict on kept results, and the line that counts them."""
    *lines, counts, _ = run("hypotheses", "--results", folder.name, "--format", "csv").splitlines()
    return {row["hypothesis"]: row["verdict"] for row in csv.DictReader(lines)}, counts


def total(kept: list[pl.DataFrame]) -> int:
    return sum(each.height for each in kept)


def untrained_of(folder: Path) -> int:
    """Return the episodes of the untrained model, none of which ended or scored."""
    untrained = pl.concat([evaluated("hub->P", folder), evaluated("hub->S", folder)])
    assert set(untrained["score"]) == {0}
    assert "finish_tool" not in set(untrained["finish_reason"])
    return untrained.height
