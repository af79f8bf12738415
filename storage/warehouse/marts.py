"""Published tables, staging views and marts, made from their files."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Literal

import duckdb
from duckdb import DuckDBPyConnection

from carryover.storage.comments import comment_on_schema
from carryover.storage.errors import WarehouseError
from carryover.storage.warehouse.connection import transaction
from carryover.storage.warehouse.mart_increment import measure_every_episode, measure_new_episodes
from carryover.storage.warehouse.mart_sources import MartSource, read_mart_sources, sources_digest
from carryover.tasks.services.progress import OpenBar, no_bar

_DERIVED = """
select if(table_type = 'VIEW', 'view', 'table'), table_schema, table_name from information_schema.tables
where table_catalog = current_database() and table_schema in ('published', 'staging', 'marts')
"""


def refresh_marts(
    connection: DuckDBPyConnection, *, is_materialized: bool = True, open_bar: OpenBar = no_bar
) -> Literal["nothing", "increment", "rebuild"]:
    """Make published tables, macros, views and marts from files; return how.

    `published.NAME` is a table of a CSV file, `staging.NAME` a view or a macro, `marts.NAME` a table. They are made in
    this order, those of a schema in the order of their names. Where the files are those
    of the last time, only the episodes that came since are measured. Without `is_materialized`, marts are views too,
    for a database that holds no rows of its own. Raise `WarehouseError` naming a file that does not bind. `open_bar`
    shows the marts that are computed.
    """
    sources = read_mart_sources()
    if not is_materialized:
        _rebuild(connection, sources, "view", no_bar)
        return "rebuild"
    digest = sources_digest(sources)
    former, bundle_count = _computed_from(connection)
    if former == digest and bundle_count == _bundle_count(connection):
        return "nothing"
    if former != digest:
        _rebuild(connection, sources, "table", open_bar, digest)
        return "rebuild"
    is_increment = measure_new_episodes(connection, sources, open_bar)
    if not is_increment:
        measure_every_episode(connection, sources, open_bar)
    # A merger that is killed right here finds nothing left to measure the next time.
    refreshed = (_bundle_count(connection), datetime.now(UTC))
    connection.execute("update main.refreshed_marts set bundle_count = ?, refreshed_at = ?", refreshed)
    return "increment" if is_increment else "rebuild"


def are_of_this_sql(connection: DuckDBPyConnection) -> bool:
    """Tell whether the installed SQL computed a warehouse's marts."""
    return _computed_from(connection)[0] == sources_digest(read_mart_sources())


def _computed_from(connection: DuckDBPyConnection) -> tuple[str | None, int]:
    """Return the digest of the marts' SQL, and the bundles then."""
    rows = connection.sql("select sql_digest, bundle_count from main.refreshed_marts").fetchall()
    if rows:
        return rows[0]
    return (None, 0)


def _rebuild(
    connection: DuckDBPyConnection,
    sources: Sequence[MartSource],
    mart_kind: Literal["table", "view"],
    open_bar: OpenBar,
    digest: str | None = None,
) -> None:
    kinds = {"published": "table", "macros": "macro", "staging": "view", "marts": mart_kind, "views": "view"}
    mart_count = sum(source.schema == "marts" for source in sources)
    with transaction(connection), open_bar("marts", mart_count, "marts") as advance:
        # Also drops what a former version defined, and lets a view become a table.
        for kind, schema, name in connection.sql(_DERIVED).fetchall():
            connection.execute(f'drop {kind} {schema}."{name}"')
        for source in sources:
            try:
                connection.execute(source.creation(kinds[source.schema]))
            except duckdb.Error as error:
                raise WarehouseError(f"sql/{source.schema}/{source.name}: {error}") from error
            advance(source.schema == "marts", source.name)
        connection.execute("delete from main.refreshed_marts")
        if digest is not None:
            # Not for a landing zone: its views are made anew at every opening, and comments would double that time.
            comment_on_schema(connection, [(source.relation, source.statement) for source in sources])
            computed = (digest, _bundle_count(connection), datetime.now(UTC))
            connection.execute("insert into main.refreshed_marts values (?, ?, ?)", computed)


def create_views(connection: DuckDBPyConnection) -> None:
    """Create the views of `sql/views` on the marts as they are."""
    for source in read_mart_sources():
        if source.schema == "views":
            connection.execute(f"create or replace view {source.relation} as {source.statement}")


def _bundle_count(connection: DuckDBPyConnection) -> int:
    return connection.sql("select count(*) from main.merged_bundles").fetchall()[0][0]
