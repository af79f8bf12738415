"""Staging views and marts: the SQL of `sql/staging` and `sql/marts`, bound to the base tables."""

import hashlib
from datetime import UTC, datetime
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import NamedTuple

import duckdb
from duckdb import DuckDBPyConnection

from storage.errors import WarehouseError


class _Source(NamedTuple):
    schema: str
    name: str
    statement: str


def refresh_marts(connection: DuckDBPyConnection, *, is_materialized: bool = True) -> bool:
    """Make `staging.NAME` a view and `marts.NAME` a table of every file's statement, in name order; tell if it ran.

    Nothing runs where the marts are as new as the SQL and the merged bundles. Without `is_materialized`, marts are
    views too, for a database that holds no rows of its own. Raise `WarehouseError` naming a file that does not bind.
    """
    sources = _read_sources()
    digest = hashlib.sha256(repr(sources).encode()).hexdigest()[:16]
    if is_materialized and _is_fresh(connection, digest):
        return False
    connection.begin()
    try:
        _drop_leftovers(connection)
        for source in sources:
            kind = "table" if source.schema == "marts" and is_materialized else "view"
            try:
                connection.execute(f'create {kind} {source.schema}."{source.name}" as {source.statement}')
            except duckdb.Error as error:
                raise WarehouseError(f"sql/{source.schema}/{source.name}.sql: {error}") from error
        connection.execute("delete from main.refreshed_marts")
        connection.execute(
            "insert into main.refreshed_marts select $digest, count(*), $now from main.merged_bundles",
            {"digest": digest, "now": datetime.now(UTC)},
        )
    except BaseException:
        connection.rollback()
        raise
    connection.commit()
    return True


def _read_sources() -> list[_Source]:
    return [
        _Source(schema, source.name.removesuffix(".sql"), source.read_text(encoding="utf-8").rstrip().rstrip(";"))
        for schema in ("staging", "marts")
        for source in _sql_files(files("sql") / schema)
    ]


def _sql_files(folder: Traversable) -> list[Traversable]:
    if not folder.is_dir():
        return []
    return sorted((source for source in folder.iterdir() if source.name.endswith(".sql")), key=lambda file: file.name)


def _is_fresh(connection: DuckDBPyConnection, digest: str) -> bool:
    return bool(
        connection.sql(
            """
            select 1 from main.refreshed_marts
            where sql_digest = $digest and bundle_count = (select count(*) from main.merged_bundles)
            """,
            params={"digest": digest},
        ).fetchall()
    )


def _drop_leftovers(connection: DuckDBPyConnection) -> None:
    # Also drops what a former version defined, and lets a view become a table.
    for kind, schema, name in connection.sql(
        """
        select 'table', schema_name, table_name from duckdb_tables()
        where database_name = current_database() and schema_name in ('staging', 'marts')
        union all
        select 'view', schema_name, view_name from duckdb_views()
        where database_name = current_database() and schema_name in ('staging', 'marts') and not internal
        """
    ).fetchall():
        connection.execute(f'drop {kind} {schema}."{name}"')
