"""Arrow schemas of the tables, derived from the row models."""

import types
from collections.abc import Sequence
from datetime import datetime
from enum import Enum
from functools import cache
from operator import attrgetter
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin

import pyarrow as pa

from carryover.storage.sql_text import quoted
from carryover.tasks.traces.rows import EPISODE_TABLES, EpisodeRow, Row
from carryover.tasks.traces.tables import TABLES

EPISODE_CHILDREN: tuple[str, ...] = tuple(row.TABLE for row in EPISODE_TABLES if row is not EpisodeRow)
"""Tables whose rows belong to an episode and enter the warehouse together with it."""

_TYPES: dict[Any, tuple[pa.DataType, str]] = {
    str: (pa.string(), "VARCHAR"),
    int: (pa.int64(), "BIGINT"),
    float: (pa.float64(), "DOUBLE"),
    bool: (pa.bool_(), "BOOLEAN"),
    datetime: (pa.timestamp("us", tz="UTC"), "TIMESTAMP WITH TIME ZONE"),
    tuple[str, ...]: (pa.list_(pa.string()), "VARCHAR[]"),
}
"""Arrow's and DuckDB's type of a field's."""
_DUCKDB_TYPES = dict(_TYPES.values())


class Column(NamedTuple):
    """A column of a table as DuckDB declares it."""

    name: str
    duckdb_type: str
    is_nullable: bool
    """False for a key's columns; any other may be missing in what an older version landed."""


def row_model(table: str) -> type[Row]:
    """Return the model of a table's rows.

    Raise `ValueError` for a table that does not exist.
    """
    try:
        return TABLES[table]
    except KeyError:
        raise ValueError(f"unknown table {table!r}; choose from {', '.join(sorted(TABLES))}") from None


@cache
def arrow_schema(table: str) -> pa.Schema:
    """Return a table's Arrow schema in the model's order.

    Required columns are not nullable.
    """
    return pa.schema(
        [_arrow_field(table, name, field.annotation) for name, field in row_model(table).model_fields.items()]
    )


def nullable_schema(table: str) -> pa.Schema:
    """Return the schema of rows that an older version may have landed.

    Any column but a key's may be null.
    """
    fields = [field.with_nullable(field.name not in row_model(table).KEY) for field in arrow_schema(table)]
    return pa.schema(fields)


def duckdb_columns(table: str) -> list[Column]:
    """Return a table's columns as DuckDB holds them."""
    key = row_model(table).KEY
    return [Column(field.name, _DUCKDB_TYPES[field.type], field.name not in key) for field in arrow_schema(table)]


def column_default(table: str, name: str) -> Any:
    """Return a missing column's value: the model's default, else `None`."""
    field = row_model(table).model_fields[name]
    if field.is_required():
        return None
    return field.default


def default_literal(table: str, name: str) -> str:
    """Return `column_default` as an SQL literal."""
    default = column_default(table, name)
    if default is None:
        return "null"
    if isinstance(default, str):
        return quoted(default)
    if isinstance(default, tuple):
        return f"[{', '.join(map(quoted, default))}]"
    return str(default).lower()


def create_table(table: str) -> str:
    """Return the statement that creates a row model's table, empty.

    Keys are declared for the small tables. A primary key would double the time of a merge of episodes, and DuckDB
    refuses to replace a row within a transaction, so the other keys are checked by the gate.
    """
    model = row_model(table)
    columns = []
    for column in duckdb_columns(table):
        constraint = "" if column.is_nullable else " not null"
        columns.append(f"{column.name} {column.duckdb_type}{constraint}")
    if model not in EPISODE_TABLES and not model.LATEST_WINS:
        columns.append(f"primary key ({', '.join(model.KEY)})")
    return f"create table main.{table} ({', '.join(columns)})"


def to_arrow(rows: Sequence[Row]) -> pa.Table:
    """Return rows of one table as an Arrow table.

    Raise `ValueError` for no rows, mixed rows or a time without zone.
    """
    if not rows:
        raise ValueError("no rows: an empty table is `arrow_schema(table).empty_table()`")
    model = type(rows[0])
    if stranger := next((row for row in rows if type(row) is not model), None):
        raise ValueError(f"rows of one table wanted, got {model.__name__} and {type(stranger).__name__}")
    schema = arrow_schema(model.TABLE)
    columns = [_array(list(map(attrgetter(field.name), rows)), field) for field in schema]
    return pa.Table.from_arrays(columns, schema=schema)


def _arrow_field(table: str, name: str, annotation: Any) -> pa.Field:
    is_nullable = False
    if get_origin(annotation) in (Union, types.UnionType):
        present = [member for member in get_args(annotation) if member is not types.NoneType]
        is_nullable = len(present) < len(get_args(annotation))
        if len(present) != 1:
            raise TypeError(f"column {table}.{name} has no single type: {annotation}")
        annotation = present[0]
    if get_origin(annotation) is Literal or (isinstance(annotation, type) and issubclass(annotation, Enum)):
        annotation = str
    if annotation not in _TYPES:
        raise TypeError(f"column {table}.{name} has a type without an Arrow counterpart: {annotation}")
    return pa.field(name, _TYPES[annotation][0], nullable=is_nullable)


def _array(values: list[Any], field: pa.Field) -> pa.Array:
    if pa.types.is_timestamp(field.type) and any(value is not None and value.tzinfo is None for value in values):
        raise ValueError(f"column {field.name!r} holds a time without a zone; use datetime.now(UTC)")
    try:
        return pa.array(values, field.type)
    except UnicodeEncodeError:
        # A model may emit half of a surrogate pair, which no UTF-8 file can hold: keep it readable instead of losing
        # the episode.
        return pa.array([_encodable(value) for value in values], field.type)


def _encodable(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(_encodable(member) for member in value)
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    return value
