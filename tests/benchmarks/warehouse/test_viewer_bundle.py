"""A bundle of a thousand episodes in one file: its size, and the seconds until a browser shows it.

pytest -m benchmark -s tests/benchmarks/warehouse/test_viewer_bundle.py
"""

from itertools import product
from pathlib import Path
from typing import Any

import pytest

from carryover.flows.cli.asking import ask_of
from carryover.storage.warehouse.merger import merge
from carryover.storage.warehouse.reader import Warehouse
from carryover.storage.zone.landing import LandingZone
from carryover.tasks.agent.recorder import RecordedEpisode
from carryover.tasks.knapsack.instance import instance_rows
from carryover.tasks.knapsack.knapsack_spec import KNAPSACK
from carryover.tasks.knapsack.sampling import sample_instance
from carryover.tasks.runtime.open import open_runtime
from carryover.tasks.runtime.runtime_spec import RuntimeSpec
from carryover.tasks.traces.study_rows import RunEndRow, RunRow
from carryover.tasks.viewer.bundle import MOST_BYTES, MOST_EPISODES, write_bundle
from tests.benchmarks.warehouse.browser_seconds import shown_at
from tests.flows.cli.chromium import Page, open_page
from tests.storage.conftest import build_row
from tests.tasks.interchange.conftest import CONTRACTS, play

PLAYED_INSTANCES = 10
"""Played under each contract; the episodes of a cell are copies of them, which gzip packs one by one."""
CELLS = list(product(CONTRACTS, repeat=2))
GOALS = {"first screen": 1.0, "an episode": None}


@pytest.mark.benchmark
@pytest.mark.browser
@pytest.mark.timeout(3600)
def test_a_thousand_episodes_in_one_file(tmp_path, keep_figure):
    merge_a_study(tmp_path)
    with Warehouse.open(tmp_path / "warehouse.duckdb") as warehouse:
        written = write_bundle(ask_of(warehouse), "plan", tmp_path / "study.html", "true")
    assert written == (tmp_path / "study.html", MOST_EPISODES, False)
    size = written.path.stat().st_size / 1e6
    what = f"bundle of {MOST_EPISODES:,} episodes in one file"
    keep_figure(f"{what}, size", size, "MB", at_most=MOST_BYTES / 1e6)
    with open_page() as page:
        first = seconds_of_pages(page, written.path)
        again = seconds_of_pages(page, written.path)
    for name, goal in GOALS.items():
        keep_figure(f"{what}, {name}", first[name], "s", at_most=goal)
        keep_figure(f"{what}, {name}, in a second look", again[name], "s", at_most=goal)


def seconds_of_pages(page: Page, file: Path) -> dict[str, float]:
    """Return what a reader waits for, in pages that are loaded anew."""
    page.show("about:blank", 1280)
    page.show(f"file://{file}", 1280)
    seconds = {"first screen": shown_at(page, "document.querySelectorAll('.cell').length >= 4")}
    page.show("about:blank", 1280)
    page.show(f"file://{file}#/episode/{MOST_EPISODES - 1}", 1280)
    seconds["an episode"] = shown_at(page, "document.querySelector('.turn') !== null")
    return seconds


def merge_a_study(home: Path) -> None:
    """Merge four cells of copies of played episodes."""
    instances = [sample_instance(KNAPSACK["easy"], seed) for seed in range(PLAYED_INSTANCES)]
    runtime = open_runtime(RuntimeSpec())
    try:
        played = {contract: [play(instance, contract, runtime) for instance in instances] for contract in CONTRACTS}
    finally:
        runtime.close()
    tables: dict[str, list[Any]] = {
        "runs": [build_row(RunRow, plan_digest="plan", plan_name="laptop", plan_json="{}", environment_json="{}")],
        "run_ends": [build_row(RunEndRow, status="finished")],
    }
    copies = MOST_EPISODES // len(CELLS)
    for number in range(copies):
        row = instance_rows(instances[number % PLAYED_INSTANCES], "run", "evaluation")[0]
        tables.setdefault("instances", []).append(row.model_copy(update={"instance_id": str(number), "seed": number}))
    for cell, (train, runtime_contract) in enumerate(CELLS):
        for number in range(copies):
            episode = played[runtime_contract][number % PLAYED_INSTANCES]
            add_copy(
                tables, episode, str(cell * copies + number), {"instance_id": str(number), "train_contract": train}
            )
    zone = LandingZone(home / "landing")
    zone.write(tables, "run")
    merge(zone, home / "warehouse.duckdb")


def add_copy(tables: dict[str, list[Any]], played: RecordedEpisode, episode_id: str, cell: dict[str, str]) -> None:
    """Add an episode's rows under another id, as a model's that was trained under a contract."""
    setting = {"plan_digest": "plan", "purpose": "evaluation", "base": "scratch", "split": "evaluation"}
    for table, rows in played.rows.items():
        replaced = {"episode_id": episode_id}
        if table == "episodes":
            replaced |= setting | cell
        tables.setdefault(table, []).extend(row.model_copy(update=replaced) for row in rows)
