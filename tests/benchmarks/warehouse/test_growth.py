"""No query of the warehouse handles rows that grow faster than the episodes; counted, so that no clock is asked."""

import json

import pytest
from duckdb import DuckDBPyConnection

from carryover.storage.warehouse.connection import open_memory
from carryover.storage.warehouse.marts import refresh_marts
from carryover.storage.warehouse.migrations import migrate
from carryover.tasks.analysis.queries import table_names, table_query
from carryover.tasks.stages.gate import check_files

EPISODE_COUNTS = (800, 3_200)
MOST_GROWTH = 1.5
"""Growth of the rows that a query's operators hand on, over that of the episodes; a square would be 4."""

QUERIES = {check.name: check.query for check in check_files()} | {name: table_query(name).sql for name in table_names()}


@pytest.fixture(scope="module")
def warehouses(add_many_episodes):
    """The same study in two sizes."""
    connections = []
    for episode_count in EPISODE_COUNTS:
        connection = open_memory()
        migrate(connection)
        add_many_episodes(connection, 0, episode_count)
        refresh_marts(connection)
        connections.append(connection)
    return connections


def _handed_on(connection: DuckDBPyConnection, query: str) -> int:
    known = {"plan_digest": "plan", "tools_json": "[]"}
    parameters = {name: value for name, value in known.items() if f"${name}" in query}
    ((_, profile),) = connection.execute(f"explain (analyze, format json) {query}", parameters).fetchall()
    return json.loads(profile)["query"]["total_intermediate_rows"]


@pytest.mark.parametrize("name", QUERIES)
def test_a_query_hands_on_rows_in_proportion_to_the_episodes(warehouses, name):
    small, large = (_handed_on(connection, QUERIES[name]) for connection in warehouses)
    growth = EPISODE_COUNTS[1] / EPISODE_COUNTS[0]
    assert large <= MOST_GROWTH * growth * small
