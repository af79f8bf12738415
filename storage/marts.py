"""Published tables, staging views and marts: the files of `sql/published`, `sql/staging` and `sql/marts`."""

import hashlib
from datetime import UTC, datetime
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import NamedTuple

import duckdb
from duckdb import DuckDBPyConnection

from storage.connection import quoted
from storage.errors import WarehouseError


class _Source(NamedTuple):
    schema: str
    name: str
    statement: str
    content: str


def refresh_marts(connection: DuckDBPyConnection, *, is_materialized: bool = True) -> bool:
    """Make `published.NAME` a table of every CSV file, `staging.NAME` a view and `marts.NAME` a table; tell if it ran.

    Within a schema, files run in the order of their names; the schemas stand in this order. Nothing runs where the
    marts are as new as the files and the merged bundles. Without `is_materialized`, marts are views too, for a
    database that holds no rows of its own. Raise `WarehouseError` naming a file that does not bind.
    """
    sources = _read_sources()
    contents = [(source.schema, source.name, source.content) for source in sources]
    digest = hashlib.sha256(repr(contents).encode()).hexdigest()[:16]
    if is_materialized and _is_fresh(connection, digest):
        return False
    connection.begin()
    try:
        _drop_leftovers(connection)
        connection.execute("create schema if not exists published")
        for source in sources:
            kind = "table" if source.schema == "published" or (source.schema == "marts" and is_materialized) else "view"
            try:
                connection.execute(f'create {kind} {source.schema}."{source.name}" as {source.statement}')
            except duckdb.Error as error:
                raise WarehouseError(f"sql/{source.schema}/{source.name}: {error}") from error
        connection.execute("delete from main.refreshed_marts")
        if is_materialized:
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
        *(_published_source(source) for source in _files("published", ".csv")),
        *(_sql_source(schema, source) for schema in ("staging", "marts") for source in _files(schema, ".sql")),
    ]


def _published_source(source: Traversable) -> _Source:
    statement = f"from read_csv({quoted(str(source))}, header = true)"
    return _Source("published", source.name.removesuffix(".csv"), statement, source.read_text(encoding="utf-8"))


def _sql_source(schema: str, source: Traversable) -> _Source:
    text = source.read_text(encoding="utf-8").rstrip().rstrip(";")
    return _Source(schema, source.name.removesuffix(".sql"), text, text)


def _files(folder_name: str, suffix: str) -> list[Traversable]:
    folder = files("sql") / folder_name
    if not folder.is_dir():
        return []
    return sorted((source for source in folder.iterdir() if source.name.endswith(suffix)), key=lambda file: file.name)


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
        where database_name = current_database() and schema_name in ('published', 'staging', 'marts')
        union all
        select 'view', schema_name, view_name from duckdb_views()
        where database_name = current_database() and schema_name in ('published', 'staging', 'marts') and not internal
        """
    ).fetchall():
        connection.execute(f'drop {kind} {schema}."{name}"')
