"""A warehouse file whose episodes have eight steps each; run as a script, it is made once and kept."""

import sys
from pathlib import Path

from conftest import add_episodes, add_statistics  # beside this file
from duckdb import DuckDBPyConnection

from carryover.storage.warehouse.connection import open_for_writing
from carryover.storage.warehouse.marts import refresh_marts
from carryover.storage.warehouse.migrations import migrate

STEPS_PER_EPISODE = 8
_COPIES = "(select unnest([1, 2, 3]) as copy)"
_SHIFTED = {
    "turns": ("turn + 2 * copy as turn", "turn > 0"),
    "steps": ("step + 2 * copy as step, turn + 2 * copy as turn", "true"),
    "name_events": ("step + 2 * copy as step", "true"),
    "tool_calls": ("step + 2 * copy as step", "true"),
}
"""What the rows of a later step change, and which rows are copied."""


def make_long_episodes(path: Path, step_count: int) -> None:
    """Write the file; the rows of `rows/` have two steps an episode, which are copied three times."""
    connection = open_for_writing(path)
    migrate(connection)
    add_episodes(connection, 0, step_count // STEPS_PER_EPISODE)
    for table, (replaced, condition) in _SHIFTED.items():
        _copy_rows(connection, table, replaced, condition)
    _name_by_digests(connection)
    ended = "select run_id, 'finished' as status, '' as message, now() as finished_at from runs"
    connection.execute(f"insert into run_ends by name {ended}")
    refresh_marts(connection)
    add_statistics(connection)
    refresh_marts(connection)
    connection.execute("checkpoint")
    connection.close()


def _copy_rows(connection: DuckDBPyConnection, table: str, replaced: str, condition: str) -> None:
    rows = f"select * exclude (copy) replace ({replaced}) from main.{table} cross join {_COPIES} where {condition}"
    connection.execute(f"insert into main.{table} by name {rows} order by episode_id")


def _name_by_digests(connection: DuckDBPyConnection) -> None:
    """Name episodes and instances as a study does: names in order would let a query skip rows by their bounds."""
    columns = "select table_name, column_name from duckdb_columns() where schema_name = 'main'"
    named = f"{columns} and column_name in ('episode_id', 'instance_id')"
    for table, column in connection.sql(named).fetchall():
        connection.execute(f"update main.{table} set {column} = substr(md5({column}), 1, 24)")


if __name__ == "__main__":
    make_long_episodes(Path(sys.argv[1]), int(sys.argv[2]))
