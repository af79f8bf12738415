"""All episodes of a plan as columns, for the browser's filters."""

import base64
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from carryover.tasks.analysis.asking import Ask
from carryover.tasks.viewer.warehouse_rows import viewer_sql

DIGITS = 4
"""Decimal places of a column of fractions."""
INTEGERS = ("int8", "int16", "int32")
"""Kinds of packed integers, the smallest first."""
_UNIQUE = ("episode_id",)


def episode_columns(ask: Ask, plan_digest: str, episode_ids: Sequence[str] | None = None) -> dict[str, Any]:
    """Return the columns of a plan's episodes, or of some.

    A column of words is `{"values": [...], "codes": NUMBERS}`, where code -1 is null, and ids are a list. NUMBERS are
    `{"kind": "int16", "data": Base64}`: the bytes of a typed array, in which a browser reads a million numbers at once.
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
    if name in _UNIQUE:
        return column.to_pylist()
    if pa.types.is_string(column.type):
        return _words(column)
    return packed_numbers(_numbers(column))


def _words(column: pa.ChunkedArray) -> dict[str, Any]:
    encoded = column.dictionary_encode().unify_dictionaries().combine_chunks()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.chunk(0)
    codes = encoded.indices.fill_null(-1).to_numpy()
    return {"values": encoded.dictionary.to_pylist(), "codes": packed_numbers(codes)}


def _numbers(column: pa.ChunkedArray) -> np.ndarray:
    """Return a column's numbers, as floats with NaN where it has nulls."""
    if pa.types.is_integer(column.type):
        return column.to_numpy()
    return np.round(column.cast(pa.float64()).to_numpy(), DIGITS)


def packed_numbers(numbers: np.ndarray) -> dict[str, str]:
    """Return numbers as the smallest kind that holds them."""
    kind = _kind_of(numbers)
    return {"kind": kind, "data": base64.b64encode(numbers.astype(kind).tobytes()).decode()}


def _kind_of(numbers: np.ndarray) -> str:
    if numbers.dtype.kind == "f" or numbers.size == 0:
        return "float64"
    low = numbers.min()
    high = numbers.max()
    for kind in INTEGERS:
        if np.iinfo(kind).min <= low and high <= np.iinfo(kind).max:
            return kind
    return "float64"
