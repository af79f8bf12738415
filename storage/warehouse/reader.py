"""Reading the warehouse: SQL as Arrow or Polars, tables lazily.

A reader never waits.
"""

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Self

import duckdb
import polars as pl
import pyarrow as pa
from duckdb import DuckDBPyConnection

from carryover.storage.errors import WarehouseError
from carryover.storage.warehouse.connection import (
    failed_read,
    open_for_reading,
    open_memory,
    query_error,
    require_query,
    shut_files_out,
)
from carryover.storage.warehouse.marts import are_of_this_sql, refresh_marts
from carryover.storage.warehouse.merger import lock_path
from carryover.storage.warehouse.migrations import check_version, migrate
from carryover.storage.warehouse.readers_copy import readers_copy_path
from carryover.storage.warehouse.stoppable_query import stoppable
from carryover.storage.zone.bundles import MANIFEST_FOLDER, Share, share_episodes
from carryover.storage.zone.files import FileStore
from carryover.storage.zone.landing import LandingZone
from carryover.storage.zone.objects import OBJECTS_FOLDER
from carryover.storage.zone.quarantine import QUARANTINE_FOLDER, find_damage
from carryover.storage.zone.scans import scan_relation
from carryover.storage.zone.schemas import row_model
from carryover.storage.zone.sources import each_once, losing_plans, lost_episodes, table_source
from carryover.tasks.traces.study_rows import ReusedEpisodeRow
from carryover.tasks.traces.tables import TABLES

_ERRORS_OF_THE_QUERY = (
    duckdb.BinderException, duckdb.CatalogException, duckdb.InterruptException, duckdb.ParserException,
    duckdb.PermissionException, duckdb.SyntaxException,
)  # fmt: skip
"""Errors that only a query causes."""


class Result:
    """A query's rows, held as Arrow; the other forms share its memory."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return self._table.column_names

    def arrow(self) -> pa.Table:
        """Return the rows as an Arrow table."""
        return self._table

    def polars(self) -> pl.DataFrame:
        """Return the rows as a Polars frame over the same buffers."""
        return pl.DataFrame(self._table)

    def rows(self) -> list[tuple[Any, ...]]:
        """Return the rows as tuples of Python values."""
        return list(zip(*(column.to_pylist() for column in self._table.columns), strict=True))

    def __len__(self) -> int:
        return self._table.num_rows


class Warehouse:
    """A warehouse for reading: a readers' copy, or a landing zone.

    ```python
    with Warehouse.open("study.duckdb") as warehouse:
        hard = warehouse.sql("select * from marts.episode_metrics where bucket = $bucket", bucket="hard").polars()
        imports = warehouse.scan("steps").group_by("episode_id").agg(pl.col("import_count").sum()).collect()
    ```
    """

    def __init__(self, connection: DuckDBPyConnection, source: Path | LandingZone) -> None:
        self._connection = connection
        self._source = source

    @classmethod
    def open(cls, path_or_url: str | Path, storage_options: Mapping[str, Any] | None = None) -> Self:
        """Open a warehouse file, or scan a landing zone's folder or URL.

        `storage_options` are those of the landing zone.
        Raise `WarehouseError` where there is neither, and for a file that is no warehouse or of another version;
        `TypeError` for what is no path.
        """
        if not isinstance(path_or_url, str | PathLike):
            kind = type(path_or_url).__name__
            raise TypeError(f"a warehouse is opened by its path or URL, got {kind}; pass a str or pathlib.Path")
        if "://" in str(path_or_url) or Path(path_or_url).is_dir():
            landing = LandingZone(path_or_url, storage_options)
            return cls(_open_landing(landing), landing)
        path = Path(path_or_url)
        return cls(_open_file(path), path)

    def sql(self, query: str, **parameters: Any) -> Result:
        """Run a query with `$name` parameters and return its rows.

        A query reads the warehouse and no other file, and writes none: only queries run, no other statements.

        Raises:
            QueryError: DuckDB refused the query.
            WarehouseError: A landed file is damaged; the message names it.
            UnreachableZoneError: Object storage did not answer.
        """
        try:
            require_query(self._connection, query)
            cursor = self._cursor()

            def fetch() -> pa.Table:
                # A `with` may write and counts as a query; a database in memory cannot be attached read-only.
                cursor.execute("begin transaction read only")
                relation = cursor.sql(query, params=parameters or None)
                if relation is not None:
                    return relation.to_arrow_table()
                return pa.table({})

            return Result(stoppable(cursor, fetch))
        except duckdb.Error as error:
            if isinstance(self._source, LandingZone) and not isinstance(error, _ERRORS_OF_THE_QUERY):
                _refuse_damage(self._source, error)
            raise query_error(error) from error

    def latest_plan(self) -> str | None:
        """Return the digest of the latest finished study's plan.

        Of the latest import where there is no study.

        Else `None`.
        """
        rows = self.sql("select plan_digest from staging.latest_plan").rows()
        if rows:
            return rows[0][0]
        return None

    def scan(self, table: str) -> pl.LazyFrame:
        """Return a table as a lazy Polars frame.

        It reads what `sql` reads: a file's copy, or the landed Parquet of a zone.

        Raise `ValueError` for a table that does not exist.
        """
        row_model(table)
        if isinstance(self._source, LandingZone):
            return self._source.scan(table)
        return scan_relation(lambda: self._cursor().table(f"main.{table}"))

    def has_current_marts(self) -> bool:
        """Return whether the marts were computed by the SQL of this Carryover.

        `merge` computes them again if not.

        Marts of another version may lack columns that its tables read, or hold values by an older definition.
        """
        return isinstance(self._source, LandingZone) or are_of_this_sql(self._cursor())

    def close(self) -> None:
        """Close the warehouse."""
        self._connection.close()

    def _cursor(self) -> DuckDBPyConnection:
        # One per query: threads may share the warehouse. A cursor forgets which database is the default one.
        cursor = self._connection.cursor()
        if isinstance(self._source, Path):
            cursor.execute("use warehouse")
        return cursor

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_raised: object) -> None:
        self.close()


def _open_file(path: Path) -> DuckDBPyConnection:
    copy = readers_copy_path(path)
    if not copy.exists() and lock_path(path).exists():
        # Opening the live file would keep the merger from it.
        raise WarehouseError(
            f"no merge into {path} has finished yet; wait for the one that is running, or run `carryover merge`"
        )
    readable = copy if copy.exists() else path
    if not readable.exists():
        raise WarehouseError(f"no warehouse at {path}; `carryover merge` makes one from a landing zone")
    connection = open_for_reading(readable)
    try:
        check_version(connection)
    except WarehouseError as error:
        connection.close()
        raise WarehouseError(f"{readable}: {error}") from error
    return connection


def _open_landing(landing: LandingZone) -> DuckDBPyConnection:
    store = landing.store
    bundles, _, newer = landing.manifests()
    if not bundles and not newer and not _may_become_a_zone(store):
        raise WarehouseError(f"not a landing zone: {store.url}; open a landing zone, or a warehouse file by its path")
    connection = open_memory()
    if not store.is_local:
        connection.register_filesystem(store.filesystem)
    migrate(connection)
    try:
        shares = share_episodes(bundles)
        for name, rows in (("lost_episodes", lost_episodes(shares)), ("losing_plans", losing_plans(shares))):
            connection.register("shared", rows)
            connection.execute(f"create table main.{name} as from shared")
        for table in TABLES:
            if source := _landed_source(store, table, shares):
                connection.execute(f"drop table main.{table}")
                connection.execute(f"create view main.{table} as {each_once(table, source)}")
        refresh_marts(connection, is_materialized=False)
    except (duckdb.Error, pa.ArrowException, FileNotFoundError) as error:
        connection.close()
        _refuse_damage(landing, error)
        raise
    shut_files_out(connection, store.location(""))
    return connection


def _refuse_damage(landing: LandingZone, error: Exception) -> None:
    """Raise what explains an error: object storage out of reach, or a damaged file.

    Reads every file.
    """
    if isinstance(error, duckdb.Error) and (unreached := failed_read(error, landing.url)):
        raise unreached from error
    if damage := find_damage(landing):
        reason = " ".join(damage[0].reason.split())
        raise WarehouseError(f"{landing.url} cannot be read: {reason}; `carryover merge` puts it aside") from error


def _may_become_a_zone(store: FileStore) -> bool:
    """Tell whether a folder without manifests holds landing-zone files alone.

    A bundle's files are written before its manifest.
    """
    folders = {*TABLES, MANIFEST_FOLDER, QUARANTINE_FOLDER, OBJECTS_FOLDER}
    return store.has("") and all(file.path.split("/")[0] in folders for file in store.find())


def _landed_source(store: FileStore, table: str, shares: Sequence[Share]) -> str | None:
    """Return a query for a table's landed rows and unnoted reuse."""
    source = table_source(store, table, shares)
    if table != ReusedEpisodeRow.TABLE:
        return source
    lost = "select *, '' as bundle_id from main.losing_plans anti join main.episodes using (plan_digest, episode_id)"
    if source:
        return f"{source} union all by name {lost}"
    return lost
