"""Reading the warehouse from Python: SQL as Arrow or Polars, tables as lazy frames; a reader never waits."""

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import duckdb
import polars as pl
import pyarrow as pa
from duckdb import DuckDBPyConnection

from storage.bundles import MANIFEST_FOLDER, Manifest, share_episodes
from storage.connection import open_for_reading, open_memory, require_query, shut_files_out
from storage.errors import LandingError, WarehouseError
from storage.files import FileStore, filesystem_for_duckdb
from storage.landed_scan import landed_scan
from storage.landing import LandingZone
from storage.lock import owned
from storage.marts import are_of_this_sql, refresh_marts
from storage.migrations import check_version, migrate
from storage.names import query_error
from storage.published import publish, published_path, settle
from storage.quarantine import QUARANTINE_FOLDER, inspect_bundles, inspect_contents
from storage.scans import scan_relation
from storage.schemas import row_model
from storage.sources import each_once, lost_episodes, table_source
from storage.stoppable_query import stoppable
from tasks.traces.study_rows import TABLES


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
    """A warehouse for reading: the published copy of a file, or a landing zone seen as one.

    ```python
    with Warehouse.open("study.duckdb") as warehouse:
        hard = warehouse.sql("select * from marts.episode_metrics where bucket = $bucket", bucket="hard").polars()
        imports = warehouse.scan("steps").group_by("episode_id").agg(pl.col("import_count").sum()).collect()
    ```
    """

    def __init__(
        self,
        connection: DuckDBPyConnection,
        source: Path | LandingZone,
        storage_options: Mapping[str, Any] | None = None,
    ) -> None:
        self._connection = connection
        self._source = source
        self._storage_options = storage_options

    @classmethod
    def open(cls, path_or_url: str | Path, storage_options: Mapping[str, Any] | None = None) -> Self:
        """Open a warehouse file through its published copy, or the landing zone at a folder or URL by scanning it.

        `storage_options` are those of the landing zone, also of the one that a file was merged from.
        Raise `WarehouseError` where there is neither, and for a file that is no warehouse or of another version.
        """
        if "://" in str(path_or_url) or Path(path_or_url).is_dir():
            landing = LandingZone(path_or_url, storage_options)
            return cls(_open_landing(landing), landing)
        path = Path(path_or_url)
        return cls(_open_file(path), path, storage_options)

    def sql(self, query: str, **parameters: Any) -> Result:
        """Run a query with `$name` parameters; raise `QueryError` with DuckDB's message and near names.

        A query reads the warehouse and no other file, and writes none: only queries run, no other statements.
        """
        try:
            require_query(self._connection, query)
            cursor = self._cursor()
            return Result(stoppable(cursor, lambda: _fetch(cursor, query, parameters)))
        except duckdb.Error as error:
            raise query_error(error, self._connection) from error

    def scan(self, table: str) -> pl.LazyFrame:
        """Return a table as a lazy Polars frame over the landed Parquet, as it landed.

        Of a warehouse file these are the bundles that its copy holds. Where they are not all in reach, the frame is
        that of `scan_copy`, and a warning says why; without one where rows never landed (kept results).
        """
        row_model(table)
        if isinstance(self._source, LandingZone):
            return self._source.scan(table)
        try:
            landed = landed_scan(self._cursor(), table, self._storage_options)
        except LandingError as error:
            warnings.warn(f"scan reads the published copy of {self._source}: {error}", stacklevel=2)
            landed = None
        return self.scan_copy(table) if landed is None else landed

    def scan_copy(self, table: str) -> pl.LazyFrame:
        """Return a table as a lazy Polars frame over what `sql` reads: a warehouse file's copy, or a landing zone."""
        row_model(table)
        if isinstance(self._source, LandingZone):
            return self._source.scan(table)
        return scan_relation(lambda: self._cursor().table(f"main.{table}"))

    def latest_plan(self) -> str | None:
        """Return the digest of the plan whose study finished last; `None` where none has."""
        rows = self.sql(
            """
            select runs.plan_digest
            from runs
            inner join run_ends on runs.run_id = run_ends.run_id
            where runs.flow = 'reproduce_study' and run_ends.status = 'finished'
            order by run_ends.finished_at desc
            limit 1
            """
        ).rows()
        return rows[0][0] if rows else None

    def has_current_marts(self) -> bool:
        """Return whether the marts were computed by the SQL of this Carryover; `merge` computes them again if not.

        Marts of another version may lack columns that its tables read, or hold values by an older definition.
        """
        return isinstance(self._source, LandingZone) or are_of_this_sql(self._cursor())

    def publish(self) -> Path:
        """Publish the warehouse file as it is now, go on reading from the new copy, and return the copy's path.

        `merge` does so by itself. Raise `WarehouseBusyError` while another process merges, `WarehouseError` where the
        copy cannot be written.
        """
        if isinstance(self._source, LandingZone):
            raise WarehouseError(f"{self._source.url} is a landing zone, which needs no published copy")
        with owned(self._source):
            self._connection.close()
            try:
                settle(self._source)
                copy = publish(self._source)
            finally:
                self._connection = _open_file(self._source)
        return copy

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

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def _fetch(cursor: DuckDBPyConnection, query: str, parameters: Mapping[str, Any]) -> pa.Table:
    # A `with` may write and counts as a query; a database in memory cannot be attached read-only.
    cursor.execute("begin transaction read only")
    relation = cursor.sql(query, params=parameters or None)
    return relation.to_arrow_table() if relation is not None else pa.table({})


def _open_file(path: Path) -> DuckDBPyConnection:
    copy = published_path(path)
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


def _require_landing_zone(store: FileStore) -> None:
    """Return when nothing has landed at a place where something may: an empty folder, or one with its `bundles`.

    Folders of tables alone are such a place too: the first bundle's files are written before its manifest.

    Raises:
        WarehouseError: There is nothing, or it is something else.
    """
    try:
        names = store.names()
    except FileNotFoundError as error:
        raise WarehouseError(f"nothing has landed at {store.url}: there is no such place") from error
    if names is None:
        raise WarehouseError(f"{store.url} is a file and no landing zone; a warehouse file is opened by its path")
    if MANIFEST_FOLDER not in names and not {*TABLES, QUARANTINE_FOLDER}.issuperset(names):
        file = next((name for name in names if name.endswith(".duckdb")), None)
        way_out = f"open its {file}" if file else "open a landing zone or a warehouse file"
        raise WarehouseError(f"{store.url} is no landing zone: there is no {MANIFEST_FOLDER}/ in it; {way_out}")


def _open_landing(landing: LandingZone) -> DuckDBPyConnection:
    bundles = landing.manifests().bundles
    if not bundles:
        _require_landing_zone(landing.store)
    connection = open_memory()
    if filesystem := filesystem_for_duckdb(landing.store):
        connection.register_filesystem(filesystem)
    migrate(connection)
    try:
        _show_bundles(connection, landing.store, bundles)
    except (duckdb.Error, pa.ArrowException, FileNotFoundError) as error:
        connection.close()
        reason = _why_unreadable(landing.store, bundles)
        if reason is None:
            raise
        raise WarehouseError(f"{landing.url} cannot be read: {reason}; `carryover merge` puts it aside") from error
    shut_files_out(connection, landing.store.location(""))
    return connection


def _show_bundles(connection: DuckDBPyConnection, store: FileStore, bundles: Sequence[Manifest]) -> None:
    """Make every table and mart of a connection one of what the bundles hold."""
    shares = share_episodes(bundles)
    connection.register("lost", lost_episodes(shares))
    connection.execute("create table main.lost_episodes as from lost")
    for table in TABLES:
        if source := table_source(store, table, shares):
            connection.execute(f"drop table main.{table}")
            connection.execute(f"create view main.{table} as {each_once(table, source)}")
    refresh_marts(connection, is_materialized=False)


def _why_unreadable(store: FileStore, bundles: Sequence[Manifest]) -> str | None:
    """Return the file of the bundles that is not as it was landed, and how; reads them all if their sizes are right."""
    _, refusals = inspect_bundles(bundles, store.find(), store)
    if not refusals:
        _, refusals = inspect_contents(bundles, store)
    return " ".join(refusals[0].reason.split()) if refusals else None
