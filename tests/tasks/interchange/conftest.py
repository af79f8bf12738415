"""Episodes of the density teacher, played for real, as the tables that the landing zone gives."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pytest

from carryover.storage.warehouse.merger import merge
from carryover.storage.warehouse.reader import Warehouse
from carryover.storage.zone.landing import LandingZone
from carryover.storage.zone.schemas import arrow_schema, to_arrow
from carryover.tasks.agent.episode import PlannedEpisode, run_episode
from carryover.tasks.agent.recorder import RecordedEpisode
from carryover.tasks.interchange.authors import write_authors
from carryover.tasks.interchange.recorded import RecordedTrace, recorded_traces
from carryover.tasks.knapsack.instance import Instance, instance_rows
from carryover.tasks.knapsack.knapsack_spec import KNAPSACK
from carryover.tasks.knapsack.sampling import sample_instance
from carryover.tasks.knapsack.teachers.open import open_teacher
from carryover.tasks.runtime.backend import Runtime
from carryover.tasks.runtime.open import open_runtime
from carryover.tasks.runtime.runtime_spec import RuntimeSpec
from carryover.tasks.traces.rows import InstanceRow, Row
from tests.flattening import flat
from tests.tasks.agent.playing import make_context, make_scripted_condition
from tests.tasks.interchange.authors_repository import scripts_folder

CONTRACTS = ("persistent", "stateless")
SEEDS = (0, 1)
CELLS = {"PP": ("persistent", "persistent"), "PS": ("persistent", "stateless")}
SCORES = {"PP": (1.0, 0.9, 0.8, 0.7, 1.0, 0.55), "PS": (1.0, 0.4, 0.95, 0.1, 0.35, 0.5)}


class Played(NamedTuple):
    """Played episodes with the instances behind them."""

    episodes: list[RecordedEpisode]
    instances: list[InstanceRow]

    @property
    def rows(self) -> dict[str, list[Row]]:
        """All rows by table, as a landing zone takes them."""
        tables: dict[str, list[Row]] = {"instances": list(self.instances)}
        for episode in self.episodes:
            for table, rows in episode.rows.items():
                tables.setdefault(table, []).extend(rows)
        return tables

    def table(self, name: str) -> pa.Table:
        """Return a table as Arrow."""
        rows = self.rows[name]
        return to_arrow(rows) if rows else arrow_schema(name).empty_table()

    def traces(self) -> list[RecordedTrace]:
        """Return the episodes as exports take them."""
        names = ("episodes", "turns", "steps", "instances")
        return list(recorded_traces(*(self.table(name) for name in names)))


def play(instance: Instance, contract: str, runtime: Runtime) -> RecordedEpisode:
    """Play one episode; tokens are counted as a quarter of the characters."""
    condition = make_scripted_condition(contract)
    teacher = open_teacher("easy", contract, lambda messages: sum(len(each.content) // 4 for each in messages))
    return asyncio.run(
        run_episode(
            make_context(runtime, teacher, condition),
            PlannedEpisode(instance),
        )
    )


@pytest.fixture(scope="session")
def played() -> Played:
    """Two Easy instances under both contracts."""
    instances = [sample_instance(KNAPSACK["easy"], seed) for seed in SEEDS]
    runtime = open_runtime(RuntimeSpec())
    try:
        episodes = [play(instance, contract, runtime) for contract, instance in product(CONTRACTS, instances)]
    finally:
        runtime.close()
    return Played(episodes, [instance_rows(instance, "run", "train")[0] for instance in instances])


@pytest.fixture
def merge_rows() -> Callable[[Mapping[str, Sequence[Row]], str, Path], Warehouse]:
    """A function that lands rows in a folder, merges them, and opens the warehouse."""

    def merge_rows(rows_by_table: Mapping[str, Sequence[Row]], run_id: str, folder: Path) -> Warehouse:
        landing = LandingZone(folder / "landing")
        landing.write(rows_by_table, run_id)
        merge(landing, folder / "study.duckdb")
        return Warehouse.open(folder / "study.duckdb")

    return merge_rows


@pytest.fixture
def evaluated(traces):
    """Return a model's episode of a cell on a task; `blocks` are its replies, None for one without a block."""

    def _evaluated(cell, task, score, blocks=("print(1)", "finish()")):
        train, runtime = CELLS[cell]
        steps = [traces.step(block) for block in blocks]
        tables = traces.record(traces.trace(f"{cell}-{task}", runtime, f"knapsack-{task:010d}", score, steps))
        (trace,) = recorded_traces(tables.episodes, tables.turns, tables.steps)
        changes = {
            "purpose": "evaluation", "base": "scratch", "train_contract": train, "split": "evaluation",
            "is_solved": score == 1, "completion_tokens": 5 + task, "wall_seconds": 0.25 * task,
        }  # fmt: skip
        return trace._replace(episode=trace.episode.model_copy(update=changes))

    return _evaluated


@pytest.fixture
def study(evaluated, merge_rows, tmp_path):
    """Two cells of six tasks each, exported and merged, with their statistics."""
    traces = [evaluated(cell, task, score) for cell in CELLS for task, score in enumerate(SCORES[cell], start=1)]
    write_authors(traces, tmp_path / "files")
    rows = {
        "episodes": [trace.episode for trace in traces],
        "turns": flat(trace.turns for trace in traces),
        "steps": flat(trace.steps for trace in traces),
    }
    folders = [next((tmp_path / "files").glob(f"*/*/*-{train}-{runtime}-easy*")) for train, runtime in CELLS.values()]
    with merge_rows(rows, "run", tmp_path) as warehouse:
        yield warehouse, folders


@pytest.fixture
def authors_scripts() -> Path:
    """The authors' own scripts; without a checkout of them, tests that ask for this are left out."""
    return scripts_folder()
