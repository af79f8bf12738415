"""Episodes of the density teacher, played for real, as the tables that the landing zone gives."""

import asyncio
from typing import NamedTuple

import pyarrow as pa
import pytest

from storage.schemas import arrow_schema, to_arrow
from tasks.agent.condition import Condition
from tasks.agent.loop import run_episode
from tasks.agent.recorder import RecordedEpisode
from tasks.agent.spec import EpisodeSpec
from tasks.agent.teachers.open import open_teacher
from tasks.interchange.recorded import RecordedTrace, recorded_traces
from tasks.knapsack.instance import Instance, instance_rows
from tasks.knapsack.sampling import sample_instance
from tasks.knapsack.spec import KNAPSACK
from tasks.runtime.open import open_runtime
from tasks.runtime.protocol import Runtime
from tasks.runtime.spec import RuntimeSpec
from tasks.traces.rows import InstanceRow, Row

CONTRACTS = ("persistent", "stateless")
SEEDS = (0, 1)


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
    condition = Condition(
        purpose="teacher", model_name="scripted", runtime_contract=contract, bucket="easy", split="train"
    )
    teacher = open_teacher("easy", contract, lambda messages: sum(len(each.content) // 4 for each in messages))
    return asyncio.run(
        run_episode(
            instance, condition, teacher, runtime, EpisodeSpec(), run_id="run", plan_digest="plan", scale="smoke"
        )
    )


@pytest.fixture(scope="session")
def played() -> Played:
    """Two Easy instances under both contracts."""
    instances = [sample_instance(KNAPSACK["easy"], seed) for seed in SEEDS]
    runtime = open_runtime(RuntimeSpec())
    try:
        episodes = [play(instance, contract, runtime) for contract in CONTRACTS for instance in instances]
    finally:
        runtime.close()
    return Played(episodes, [instance_rows(instance, "run", "train")[0] for instance in instances])
