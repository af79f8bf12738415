"""Comments on relations and columns, from row models, SQL and glossary."""

import csv
import inspect
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from itertools import takewhile
from typing import NamedTuple

from duckdb import DuckDBPyConnection

from carryover.storage.sql_text import quoted
from carryover.tasks.traces.rows import EpisodeRow, InstanceRow
from carryover.tasks.traces.tables import TABLES

_RELATIONS = """
select 'table', schema_name, table_name from duckdb_tables()
where database_name = current_database() and comment is null
union all
select 'view', schema_name, view_name from duckdb_views()
where database_name = current_database() and comment is null and not internal
"""
_COLUMNS = """
select schema_name, table_name, column_name from duckdb_columns()
where database_name = current_database() and comment is null and not internal
"""
_BESIDE = {
    "qwen3_8b_": "{} As published for Qwen3-8B (arXiv 2603.01209).",
    "widest_": "{} The widest of its intervals.",
    "_difference": "{} Ours minus the published value; null where the two cannot be compared.",
    "_low": "{} Lower end of its interval.",
    "_high": "{} Upper end of its interval.",
    "_low_points": "{} Lower end of its interval.",
    "_high_points": "{} Upper end of its interval.",
}
"""Comments by prefix or suffix of a column's name, around the comment of the column that it qualifies."""


class Meanings(NamedTuple):
    """Comments on relations and columns."""

    relations: dict[str, str]
    """By name, e.g. `main.episodes`."""
    columns: dict[tuple[str, str], str]
    """By relation and column; with `*` for a column of any relation."""


def comment_on_schema(connection: DuckDBPyConnection, statements: Sequence[tuple[str, str]]) -> None:
    """Comment on a warehouse's relations and columns that lack a comment.

    `statements` are names and queries of the relations that SQL files define; each begins with a comment on its rows.
    """
    relations, columns = read_meanings()
    from_sql = {}
    for name, query in statements:
        comment = takewhile(lambda line: line.startswith("-- "), query.strip().splitlines())
        from_sql[name] = " ".join(line.removeprefix("-- ") for line in comment)
    comments = []
    for kind, schema, name in connection.sql(_RELATIONS).fetchall():
        meaning = relations.get(f"{schema}.{name}") or from_sql.get(f"{schema}.{name}")
        if meaning:
            comments.append(f'comment on {kind} {schema}."{name}" is {quoted(meaning)}')
    for schema, name, column in connection.sql(_COLUMNS).fetchall():
        meaning = columns.get((f"{schema}.{name}", column)) or _meaning(column, columns)
        if meaning:
            comments.append(f'comment on column {schema}."{name}"."{column}" is {quoted(meaning)}')
    connection.execute(";\n".join(comments))


def _meaning(column: str, columns: dict[tuple[str, str], str]) -> str | None:
    """Return what a column of any relation means.

    Columns beside another one are named after it.
    """
    documented = columns.get(("*", column))
    if documented:
        return documented
    for affix, wording in _BESIDE.items():
        beside = column.removeprefix(affix) if affix.endswith("_") else column.removesuffix(affix)
        if beside == column:
            continue
        meaning = _meaning(beside, columns) or _meaning(f"{beside}_points", columns)
        if meaning:
            return wording.format(meaning)
    return None


@cache
def read_meanings() -> Meanings:
    """Return the docstrings of the row models and the entries of `sql/glossary.csv`.

    A column has its own docstring's meaning, else the glossary's, else that of a column of the same name.
    """
    relations = {}
    columns = {}
    inherited = {}
    for model in (EpisodeRow, InstanceRow, *TABLES.values()):
        relations[f"main.{model.TABLE}"] = f"{inspect.getdoc(model)} Key: {', '.join(model.KEY)}."
        for column, field in model.model_fields.items():
            if field.description:
                meaning = " ".join(field.description.split())
                columns[f"main.{model.TABLE}", column] = meaning
                inherited.setdefault(("*", column), meaning)
    with (files("carryover.sql") / "glossary.csv").open(encoding="utf-8") as file:
        for relation, column, meaning in csv.reader(file):
            if column:
                columns.setdefault((relation, column), meaning)
            else:
                relations.setdefault(relation, meaning)
    return Meanings(relations, inherited | columns)
