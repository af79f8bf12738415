"""One party of the kill test, in a process of its own: writes, merges or reads until it is killed."""

import os
import time
from pathlib import Path

from carryover.storage.errors import WarehouseError
from carryover.storage.warehouse.merger import merge
from carryover.storage.warehouse.reader import Warehouse
from carryover.storage.zone.landing import LandingZone
from tests.storage.conftest import build_episode

STEPS_PER_EPISODE = 3
PAUSE_SECONDS = {"writer": 0.05, "merger": 0.2, "reader": 0.1}
"""Lets the parties of a loaded machine start while the others work."""
BROKEN_EPISODES = """
    select episode_id from episodes left join steps using (episode_id)
    group by episode_id
    having count(steps.episode_id) <> $steps or count(distinct steps.code) <> 1
"""


def work(role: str, home: Path, progress: Path, errors: Path) -> None:
    """Play a role until killed; each thing done is a line in a file, and what goes wrong ends another."""
    os.environ["POLARS_MAX_THREADS"] = "1"
    with errors.open("a") as file:
        os.dup2(file.fileno(), 2)
    zone = LandingZone(home / "landing")
    match role:
        case "writer":
            _write(zone, progress)
        case "merger":
            _merge(zone, home / "study.duckdb", progress)
        case "reader":
            _read(zone, home / "study.duckdb", progress)


def _acknowledge(progress: Path, line: str) -> None:
    with progress.open("a") as file:
        file.write(line + "\n")


def _write(landing: LandingZone, progress: Path) -> None:
    # An episode whose acknowledgement was lost runs again under its id, and its code tells the executions apart.
    count = len(progress.read_text().splitlines()) if progress.exists() else 0
    while True:
        episode_id = f"{progress.stem}-{count}"
        landing.write(
            build_episode(episode_id, step_count=STEPS_PER_EPISODE, code=f"execution = {os.getpid()}"), run_id="run"
        )
        _acknowledge(progress, episode_id)
        count += 1
        time.sleep(PAUSE_SECONDS["writer"])


def _merge(landing: LandingZone, warehouse: Path, progress: Path) -> None:
    while True:
        report = merge(landing, warehouse)
        if report.refusals:
            raise AssertionError(f"refused: {report.refusals}")
        _acknowledge(progress, str(report.bundle_count))
        time.sleep(PAUSE_SECONDS["merger"])


def _read(landing: LandingZone, warehouse: Path, progress: Path) -> None:
    while True:
        for source in (warehouse, Path(landing.url)):
            if not source.exists():
                continue
            try:
                opened = Warehouse.open(source)
            except WarehouseError as error:
                if "no merge into" not in str(error):  # what a reader hears before the first merge ends
                    raise
                continue
            with opened:
                if broken := opened.sql(BROKEN_EPISODES, steps=STEPS_PER_EPISODE).rows():
                    raise AssertionError(f"{source} shows broken episodes: {broken}")
        steps = landing.scan("steps").select("episode_id", "step").collect()
        if steps.height != steps.unique().height:
            raise AssertionError("the scan shows a step twice")
        _acknowledge(progress, str(steps.height))
        time.sleep(PAUSE_SECONDS["reader"])
