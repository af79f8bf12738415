"""DuckDB connections: no downloads, no replacement scans, times in UTC."""

import re
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
from duckdb import DuckDBPyConnection, StatementType, token_type

from carryover.storage.errors import LandingError, QueryError, UnreachableZoneError, WarehouseBusyError, WarehouseError
from carryover.storage.sql_text import quoted, quoted_path
from carryover.storage.zone.files import REACH

_SETTINGS: dict[str, Any] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    # A misspelt table must not turn into whatever Python variable bears its name.
    "python_enable_replacements": False,
}

_WAY_AROUND = (
    "for files, settings and statements of your own, attach the copy that readers open in DuckDB: "
    "attach 'warehouse.readers.duckdb' as warehouse (read_only)"
)
"""Way out for more than queries of the warehouse."""

_HOLDER = re.compile(r"Conflicting lock is held in (?P<program>.*?) \(PID (?P<process>\d+)\)")
"""DuckDB's error on a file that another process has open."""

_TRACEBACK = "Traceback (most recent call last):"
"""Head of DuckDB's error on a filesystem of fsspec that raised one."""

# A pivot is several statements.
_QUERIES = (StatementType.SELECT, StatementType.MULTI)

# `explain analyze` and `explain (analyze)` run what they explain.
_ANALYZE = re.compile(r'\s*explain\s*(\([^)]*)?"?\banaly[sz]e\b', re.IGNORECASE)


def open_memory() -> DuckDBPyConnection:
    """Return a connection to an empty database in memory."""
    # Made when a query spills, gone with the connection; by default it would be a folder of the working directory.
    spill = Path(tempfile.gettempdir()) / f"carryover-{uuid.uuid4().hex[:12]}"
    return _in_utc(duckdb.connect(":memory:", config=_SETTINGS | {"temp_directory": str(spill)}))


def open_for_writing(path: Path) -> DuckDBPyConnection:
    """Return the one writing connection to a warehouse file.

    Raises:
        WarehouseBusyError: Another process has the file open; the message names it.
        WarehouseError: The file is no database.
    """
    settings = _SETTINGS | {
        "memory_limit": "2500MB",
        # Rows carry their keys; keeping the order of the files as well would hold gigabytes back.
        "preserve_insertion_order": False,
        "temp_directory": str(path.with_name(path.name + ".tmp")),
    }
    try:
        return _in_utc(duckdb.connect(path, config=settings))
    except duckdb.Error as error:
        raise _opening_error(path, error) from error


def open_for_reading(path: Path) -> DuckDBPyConnection:
    """Return a read-only connection with the file as default database.

    Raise `WarehouseError` if it is not a warehouse.

    The file is attached to a database in memory: a process that opens a path which has been replaced meanwhile then
    sees the new file, while older connections keep the old one.
    """
    connection = open_memory()
    try:
        connection.execute(f"attach {quoted(str(path))} as warehouse (read_only)")
        connection.execute("use warehouse")
    except duckdb.Error as error:
        connection.close()
        raise _opening_error(path, error) from error
    shut_files_out(connection)
    return connection


def _opening_error(path: Path, error: duckdb.Error) -> WarehouseError:
    if held := _HOLDER.search(str(error)):
        return WarehouseBusyError(
            f"{path} is open in process {held['process']} ({held['program']}); close it there and try again; "
            "to read while others merge, open the readers' copy"
        )
    return WarehouseError(
        f"cannot open {path} as a warehouse: {' '.join(str(error).split())}; "
        "open a file that `carryover merge` wrote, or a landing zone by its folder"
    )


def shut_files_out(connection: DuckDBPyConnection, folder: str | None = None) -> None:
    """Deny SQL every file but attached ones and those below `folder`.

    It cannot be undone.
    """
    if folder is not None:
        # DuckDB checks the pattern that a query names, and each file that it finds.
        connection.execute(f"set global allowed_directories = [{quoted(folder)}, {quoted_path(folder)}]")
    connection.execute("set global enable_external_access = false")
    connection.execute("set global lock_configuration = true")


def require_query(connection: DuckDBPyConnection, sql: str) -> None:
    """Raise `QueryError` for any statement but a query.

    Attaching anew would evade a read-only attachment.

    Raises `duckdb.Error` for SQL that cannot be parsed.
    """
    statements = connection.extract_statements(sql)
    if len(statements) != 1:
        raise QueryError(f"{len(statements) or 'no'} statements in {sql!r:.60}; give one query")
    (statement,) = statements
    if statement.type == StatementType.EXPLAIN:
        if _ANALYZE.match(_without_asides(statement.query)):
            raise QueryError(_why_no_query("EXPLAIN ANALYZE"))
    elif statement.type not in _QUERIES:
        raise QueryError(_why_no_query(statement.type.name))


def failed_read(error: duckdb.Error, url: str) -> LandingError | None:
    """Return the failed read of object storage that DuckDB tells of.

    `None` for any other error, and for an absent object.
    """
    _, head, traceback = str(error).rpartition(_TRACEBACK)
    said = next((line for line in traceback.splitlines() if line and not line[0].isspace()), "")
    if not head or said.startswith("FileNotFoundError"):
        return None
    kind = LandingError if said.startswith("PermissionError") else UnreachableZoneError
    return kind(f"cannot read from {url}: {said}; {REACH}")


def query_error(error: duckdb.Error) -> QueryError:
    """Return a DuckDB error as a `QueryError`."""
    if isinstance(error, duckdb.PermissionException):
        return QueryError(f"{error}; a query reads its warehouse alone; {_WAY_AROUND}")
    # DuckDB says so of a database attached read-only and of a read-only transaction, with two classes of errors.
    return QueryError(_why_no_query("WITH that writes") if "read-only mode" in str(error) else str(error))


def _why_no_query(kind: str) -> str:
    """Return why a statement is refused, with the way out.

    `kind` names it.
    """
    return (
        f"unsupported statement: {kind}; the warehouse is read-only; "
        f"write select, from, with, describe, summarize, pivot, values or explain; {_WAY_AROUND}"
    )


def _without_asides(statement: str) -> str:
    """Return a statement with spaces for comments and quoted text."""
    source = statement.encode()  # the tokens begin at bytes
    tokens = duckdb.tokenize(statement)
    ends = [start for start, _ in tokens[1:]] + [len(source)]
    asides = (token_type.comment, token_type.string_const)
    return "".join(
        " " if kind in asides else source[start:end].decode() for (start, kind), end in zip(tokens, ends, strict=True)
    )


@contextmanager
def transaction(connection: DuckDBPyConnection) -> Iterator[None]:
    """Commit what the block around it changes.

    Where the block raises, for whatever reason, change nothing.
    """
    connection.begin()
    try:
        yield
    except BaseException:
        connection.rollback()
        raise
    connection.commit()


def _in_utc(connection: DuckDBPyConnection) -> DuckDBPyConnection:
    # An extension's setting, so it cannot be given at connecting; global, so that cursors share it.
    connection.execute("set global TimeZone = 'UTC'")
    return connection
