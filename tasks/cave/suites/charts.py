"""Charts as ECharts options, checked by program: which series they draw, with which points."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

from carryover.tasks.cave.suites.values import Json

_TOLERANCE = 5e-3
"""Relative: a chart may round its numbers."""


class ChartError(ValueError):
    """The option draws nothing that can be read; the message says why."""


def drawn(option: Json) -> list[tuple[str, list[Json]]]:
    """Return the kind and the points of each series.

    Raises:
        ChartError: The option has no series, or a series without data.
    """
    if not isinstance(option, Mapping):
        raise ChartError("the chart is not an object")
    series = option.get("series")
    listed = [series] if isinstance(series, Mapping) else series
    if not listed or not isinstance(listed, list):
        raise ChartError("the chart has no series")
    return [(str(one.get("type")), list(_points(option, one))) for one in listed if isinstance(one, Mapping)]


def chart_differing(expected: Mapping[str, Json], actual: Mapping[str, Json]) -> tuple[str, ...]:
    """Return how a chart differs from the expected one; empty if equal."""
    try:
        wanted = drawn(expected["chart"])
        found = drawn(actual.get("chart"))
    except ChartError as error:
        return (f"chart: {error}",)
    if [kind for kind, _ in wanted] != [kind for kind, _ in found]:
        return (f"chart: series {[kind for kind, _ in found]}, expected {[kind for kind, _ in wanted]}",)
    wrong = [place for place, (a, b) in enumerate(zip(wanted, found, strict=True)) if not _alike(a[1], b[1])]
    return tuple(f"chart: points of series {place}" for place in wrong)


def _points(option: Mapping[str, Any], series: Mapping[str, Any]) -> Iterator[Json]:
    """Yield a series' points, with a name or category if any."""
    data = series.get("data")
    if not isinstance(data, list) or not data:
        raise ChartError("a series has no data")
    kind = series.get("type")
    categories = _categories(option)
    for place, point in enumerate(data):
        name, value = _named(point)
        is_on_axis = kind == "candlestick" or not isinstance(value, list)
        if kind == "pie":
            yield [name, value]
        elif categories and is_on_axis:
            yield [categories[place] if place < len(categories) else None, value]
        else:
            yield value


def _categories(option: Mapping[str, Any]) -> list[Json] | None:
    """Return the categories of the first x axis, if it has any."""
    axis = option.get("xAxis")
    if isinstance(axis, list) and axis:
        axis = axis[0]
    if isinstance(axis, Mapping):
        return axis.get("data")
    return None


def _named(point: Json) -> tuple[Json, Json]:
    """Return the name and the value of a point."""
    if isinstance(point, Mapping):
        return point.get("name"), point.get("value")
    return None, point


def _alike(expected: Json, actual: Json) -> bool:
    if isinstance(expected, list) and isinstance(actual, list):
        return len(expected) == len(actual) and all(map(_alike, expected, actual))
    if isinstance(expected, int | float) and isinstance(actual, int | float):
        return math.isclose(expected, actual, rel_tol=_TOLERANCE, abs_tol=1e-9)
    return expected == actual
