"""All episodes of a plan as columns, for the browser's filters."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from carryover.tasks.viewer.warehouse_rows import Ask, viewer_sql

DIGITS = 4
"""Decimal places of a column of fractions."""
_UNIQUE = ("episode_id",)


def episode_columns(ask: Ask, plan_digest: str, episode_ids: Sequence[str] | None = None) -> dict[str, Any]:
    """Return the columns of a plan's episodes, or of some.

    A column of words is `{"values": [...], "codes": [...]}`, where code -1 is null; the others are lists.
    """
    table = ask(viewer_sql("episodes"), plan_digest=plan_digest)
    if episode_ids is not None:
        chosen = set(episode_ids)
        table = table.filter(pa.array([each in chosen for each in table.column("episode_id").to_pylist()], pa.bool_()))
    named = zip(table.column_names, table.columns, strict=True)
    return {"count": table.num_rows, "columns": {name: _column(name, column) for name, column in named}}


def matching_episodes(ask: Ask, plan_digest: str, where: str) -> list[str]:
    """Return the ids of a plan's episodes under an SQL condition."""
    query = (
        "select episode_id from marts.episode_metrics "
        f"where plan_digest = $plan_digest and is_counted and (\n{where}\n) order by episode_id"
    )
    return ask(query, plan_digest=plan_digest).column("episode_id").to_pylist()


def _column(name: str, column: pa.ChunkedArray) -> Any:
    if pa.types.is_string(column.type) and name not in _UNIQUE:
        return _words(column)
    if pa.types.is_floating(column.type):
        return [None if value is None else round(value, DIGITS) for value in column.to_pylist()]
    return column.to_pylist()


def _words(column: pa.ChunkedArray) -> dict[str, list[Any]]:
    encoded = column.dictionary_encode().unify_dictionaries().combine_chunks()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.chunk(0)
    return {"values": encoded.dictionary.to_pylist(), "codes": encoded.indices.fill_null(-1).to_pylist()}
