"""Datasets of ECharts options: the columns from which a series takes its points."""

from collections.abc import Mapping, Sequence
from typing import Any

from carryover.tasks.cave.suites.values import Json


class ChartError(ValueError):
    """The option draws nothing that can be read; the message says why."""


Columns = dict[str, list[Json]]


def data_of_series(option: Mapping[str, Any], series: Mapping[str, Any], place: int) -> tuple[list[Json], list[Json]]:
    """Return a series' values and categories, by `encode` or column.

    Raises:
        ChartError: There is no dataset, or it lacks a column.
    """
    columns = columns_of(option.get("dataset"), series.get("datasetIndex", 0))
    names = list(columns)
    if len(names) < 2:
        raise ChartError("a series has no data")
    encode = series.get("encode")
    chosen = encode if isinstance(encode, Mapping) else {}
    roles = ("itemName", "value") if series.get("type") == "pie" else ("x", "y")
    category = _column_name(chosen.get(roles[0], 0), names)
    value = _column_name(chosen.get(roles[1], place + 1), names)
    return columns[value], columns[category]


def columns_of(dataset: Json, number: Json) -> Columns:
    """Return a dataset by column; empty for none that can be read."""
    if isinstance(dataset, list):
        is_there = isinstance(number, int) and 0 <= number < len(dataset)
        dataset = dataset[number] if is_there else None
    if not isinstance(dataset, Mapping):
        return {}
    match dataset.get("source"):
        case dict(source):
            return {str(name): list(cells) for name, cells in source.items() if isinstance(cells, list)}
        case [dict(), *_] as source:
            return _from_objects(source)
        case [list(), *_] as source:
            return _from_rows(source, dataset.get("dimensions"))
    return {}


def _from_objects(source: Sequence[Any]) -> Columns:
    if not all(isinstance(row, Mapping) for row in source):
        return {}
    return {str(name): [row.get(name) for row in source] for name in source[0]}


def _from_rows(source: Sequence[Any], dimensions: Json) -> Columns:
    """Return rows by column; the first is their header unless there are `dimensions`."""
    width = len(source[0])
    if not all(isinstance(row, list) and len(row) == width for row in source):
        return {}
    header = source[0]
    rows = source[1:]
    if isinstance(dimensions, list):
        header = dimensions[:width]
        rows = source
    return {str(name): [row[place] for row in rows] for place, name in enumerate(header)}


def _column_name(reference: Json, names: list[str]) -> str:
    """Return the column that `encode` names, by its name or its number."""
    if isinstance(reference, list) and reference:
        reference = reference[0]
    if isinstance(reference, int) and 0 <= reference < len(names):
        return names[reference]
    if reference in names:
        return reference
    raise ChartError(f"the dataset has no column {reference!r:.100}")
