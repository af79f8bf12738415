"""A large warehouse whose rows add up, made by the files of `rows/`: one per table, for episodes $first to $last."""

from collections.abc import Callable
from pathlib import Path

import pytest
from duckdb import DuckDBPyConnection

from carryover.storage.zone.schemas import to_arrow
from carryover.tasks.analysis.claims import published_claims
from carryover.tasks.analysis.compute import compute_statistics

ROWS = Path(__file__).parent / "rows"
SAMPLED_EPISODES = 1_600
"""Episodes that the landed statistics are computed from; how many rows they are does not depend on it."""


def add_episodes(connection: DuckDBPyConnection, first: int, last: int) -> None:
    """Insert the rows of some episodes as one merged bundle; the bounds are multiples of 8."""
    for file in sorted(ROWS.glob("*.sql")):
        query = file.read_text(encoding="utf-8")
        connection.execute(f"insert into main.{file.stem} by name {query}", {"first": first, "last": last})
    _note_bundle(connection)


def add_statistics(connection: DuckDBPyConnection) -> int:
    """Insert statistics and claims as one merged bundle, and return how many statistics there are."""
    measured = connection.sql(f"from marts.episode_metrics order by instance_id limit {SAMPLED_EPISODES}").pl()
    statistics = compute_statistics(measured, plan_digest="plan", run_id="run")
    for table, rows in (("statistics", statistics), ("claims", published_claims("run"))):
        connection.register("arrived", to_arrow(rows))
        connection.execute(f"insert into main.{table} by name from arrived")
        connection.unregister("arrived")
    _note_bundle(connection)
    return len(statistics)


def _note_bundle(connection: DuckDBPyConnection) -> None:
    connection.execute("insert into main.merged_bundles select uuid(), 'run', 'landing', 1, now()")


@pytest.fixture(scope="session")
def add_many_episodes() -> Callable[[DuckDBPyConnection, int, int], None]:
    return add_episodes
