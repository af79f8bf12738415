"""Suggestions for unknown tables and columns."""

import difflib
import re

import duckdb
from duckdb import DuckDBPyConnection

from carryover.storage.errors import QueryError
from carryover.storage.warehouse.connection import WAY_AROUND, why_no_query

_UNKNOWN = re.compile(r'(?:with name|Referenced (?:column|table)|named?) "?([\w.]+)"?')

# DuckDB says so of a database attached read-only and of a read-only transaction, with two classes of errors.
_READ_ONLY = "read-only mode"


def query_error(error: duckdb.Error, connection: DuckDBPyConnection) -> QueryError:
    """Return a DuckDB error as a `QueryError`, with similar names of the warehouse for an unknown one."""
    if isinstance(error, duckdb.PermissionException):
        return QueryError(f"{error}; a query reads its warehouse alone; {WAY_AROUND}")
    message = str(error)
    if _READ_ONLY in message:
        return QueryError(why_no_query("WITH that writes"))
    unknown = _UNKNOWN.search(message)
    return QueryError(message, near_names(unknown[1], connection) if unknown else ())


def near_names(name: str, connection: DuckDBPyConnection) -> tuple[str, ...]:
    """Return up to five tables and columns whose names are close to `name`, closest first."""
    known = connection.sql(
        """
        select table_name from duckdb_tables() where database_name = current_database()
        union
        select view_name from duckdb_views() where database_name = current_database() and not internal
        union
        select column_name from duckdb_columns() where database_name = current_database() and not internal
        """
    ).fetchall()
    return tuple(difflib.get_close_matches(name.rsplit(".", 1)[-1].lower(), [row[0] for row in known], n=5, cutoff=0.6))
