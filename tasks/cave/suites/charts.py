"""Charts as ECharts options, checked by what their series draw."""

import math
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any, NamedTuple

from carryover.tasks.cave.suites.chart_data import ChartError, data_of_series
from carryover.tasks.cave.suites.values import Json

_TOLERANCE = 5e-3
"""Relative: a chart may round its numbers."""
_AXES = ("xAxisIndex", "yAxisIndex")


class Drawn(NamedTuple):
    """Points and look of a drawn series."""

    kind: str
    points: list[Json]
    axes: tuple[int, int]
    """Numbers of its x and its y axis."""
    stacked_on: tuple[int, ...] = ()
    """Places of the series that it is stacked with, itself included; empty if it stands alone."""


def drawn(option: Json) -> list[Drawn]:
    """Return what each series draws.

    Raises:
        ChartError: The option has no series, or a series without data.
    """
    if not isinstance(option, Mapping):
        raise ChartError("the chart is not an object")
    listed = option.get("series")
    if isinstance(listed, Mapping):
        listed = [listed]
    if not listed or not isinstance(listed, list):
        raise ChartError("the chart has no series")
    series = [one for one in listed if isinstance(one, Mapping)]
    return [_drawn(option, series, place) for place in range(len(series))]


def _drawn(option: Mapping[str, Any], series: list[Mapping[str, Any]], place: int) -> Drawn:
    one = series[place]
    kind = str(one.get("type"))
    data, categories = _data_of(option, one, place)
    axes = (_axis_number(one, _AXES[0]), _axis_number(one, _AXES[1]))
    return Drawn(kind, list(_points(kind, data, categories)), axes, _stack_of(series, place))


def _stack_of(series: list[Mapping[str, Any]], place: int) -> tuple[int, ...]:
    """Return the places of the series stacked with one; none if it stands alone."""
    stack = series[place].get("stack")
    if stack is None:
        return ()
    stacked = tuple(other for other, each in enumerate(series) if each.get("stack") == stack)
    if len(stacked) == 1:
        return ()
    return stacked


def chart_differing(expected: Mapping[str, Json], actual: Mapping[str, Json]) -> tuple[str, ...]:
    """Return how a chart differs from the expected one; empty if equal."""
    try:
        wanted = drawn(expected["chart"])
        found = drawn(actual.get("chart"))
    except ChartError as error:
        return (f"chart: {error}",)
    if [one.kind for one in wanted] != [one.kind for one in found]:
        return (f"chart: series {[one.kind for one in found]}, expected {[one.kind for one in wanted]}",)
    wrong = map(_wrong_series, range(len(wanted)), wanted, found)
    return tuple(chain.from_iterable(wrong))


def _wrong_series(place: int, wanted: Drawn, found: Drawn) -> Iterator[str]:
    if not _alike(wanted.points, found.points):
        yield f"chart: points of series {place}"
    if wanted.axes != found.axes:
        yield f"chart: axes {list(found.axes)} of series {place}, expected {list(wanted.axes)}"
    if wanted.stacked_on != found.stacked_on:
        yield f"chart: series {place} is stacked with {list(found.stacked_on)}, not {list(wanted.stacked_on)}"


def _axis_number(series: Mapping[str, Any], name: str) -> int:
    number = series.get(name, 0)
    return number if isinstance(number, int) else 0


def _data_of(option: Mapping[str, Any], series: Mapping[str, Any], place: int) -> tuple[list[Json], list[Json] | None]:
    """Return a series' data and categories, its own or the dataset's."""
    data = series.get("data")
    if data is not None:
        if not isinstance(data, list) or not data:
            raise ChartError("a series has no data")
        return data, _categories(option, _axis_number(series, _AXES[0]))
    values, categories = data_of_series(option, series, place)
    if series.get("type") != "pie":
        return values, categories
    return [{"name": name, "value": value} for name, value in zip(categories, values, strict=True)], None


def _points(kind: str, data: list[Json], categories: list[Json] | None) -> Iterator[Json]:
    """Yield a series' points, with a name or category if any."""
    for place, point in enumerate(data):
        name, value = _named(point)
        is_on_axis = kind == "candlestick" or not isinstance(value, list)
        if kind == "pie":
            yield [name, value]
        elif categories and is_on_axis:
            yield [categories[place] if place < len(categories) else None, value]
        else:
            yield value


def _categories(option: Mapping[str, Any], number: int) -> list[Json] | None:
    """Return the categories of an x axis, if it has any."""
    axis = option.get("xAxis")
    if isinstance(axis, list):
        axis = axis[number] if 0 <= number < len(axis) else None
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
