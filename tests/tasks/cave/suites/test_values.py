"""Values of cases as JSON, compared and built again."""

from datetime import date
from types import SimpleNamespace

import numpy
import pandas
import pytest

from carryover.tasks.cave.suites.objects import Robot
from carryover.tasks.cave.suites.values import (
    are_same,
    as_json,
    differing,
    from_json,
    index_of,
    is_record,
    kind_of,
    rebuilding,
    telling,
)


@pytest.mark.parametrize(
    ("expected", "actual", "verdict"),
    [
        (1.0, 1.0000000001, True),
        (1.0, 1, True),
        (1, 1.0, True),
        (1, 1.0000000001, False),
        (10_000_000, 10_000_001, False),
        (1, True, False),
        ([1, 2], [1], False),
        ({"a": 1}, {"a": 1, "b": 2}, False),
        ("1", 1, False),
    ],
)
def test_values_agree_up_to_rounding(expected, actual, verdict):
    assert are_same(expected, actual) is verdict


def test_a_missing_name_differs():
    assert differing({"a": None}, {}) == ("a",)


def test_numbers_are_of_one_kind():
    values = (1, 2.5, numpy.float64(1), numpy.int64(1), True, {1}, {}, numpy.zeros(2))
    kinds = ["Number", "Number", "Number", "Number", "bool", "set", "dict", "ndarray"]
    assert [kind_of(value) for value in values] == kinds


def test_values_travel_as_json_and_back():
    array = numpy.array([[1.0, 2.0], [3.0, 4.0]])
    assert as_json(from_json(as_json(array), array)) == [[1.0, 2.0], [3.0, 4.0]]
    assert from_json(["a", "b"], {"c"}) == {"a", "b"}
    assert as_json(float("nan")) == "nan"


def test_series_travel_as_labels_with_values():
    series = pandas.Series({"b": 1.5, "a": 2.5})
    assert as_json(series) == {"b": 1.5, "a": 2.5}
    assert from_json(as_json(series), series).equals(series)


FRAME = pandas.DataFrame({"a": [1, 2], 3: ["x", "y"]}, index=pandas.Index([5, 7]))


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (None, None),
        (True, True),
        (7, 7),
        ("a", "a"),
        (1.5, 1.5),
        (float("inf"), "inf"),
        (float("nan"), "nan"),
        ({1: {2, 10}, "b": (1, [2])}, {"1": [10, 2], "b": [1, [2]]}),
        (frozenset("ba"), ["a", "b"]),
        (["b", "a"], ["b", "a"]),
        (Robot(1, 2, 3), {"x": 1, "y": 2, "facing": 3}),
        (Robot, "<type>"),
        (FRAME, {"a": [1, 2], "3": ["x", "y"]}),
        (FRAME["a"], {"5": 1, "7": 2}),
        (numpy.array([[1, 2]]), [[1, 2]]),
        (numpy.int64(2), 2),
        (numpy.float32(2.5), 2.5),
        (date(2026, 1, 2), "2026-01-02"),
        (SimpleNamespace(a=1), "<SimpleNamespace>"),
    ],
)
def test_a_value_is_told_as_plain_json(value, told):
    assert as_json(value) == told
    assert type(as_json(value)) is type(told)


@pytest.mark.parametrize(
    ("value", "labels"),
    [(FRAME, [5, 7]), (FRAME["a"], [5, 7]), ([1], None), (7, None), (SimpleNamespace(index=[1]), None)],
)
def test_frames_and_series_have_labels(value, labels):
    assert index_of(value) == labels


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ("a", "str"), ([1], "list"), ((1,), "tuple"), (frozenset(), "frozenset"), ({}, "dict"), (None, "NoneType"),
        (FRAME, "DataFrame"), (Robot(0, 0, 0), "Robot"),
    ],
)  # fmt: skip
def test_a_kind_is_the_type_s_name(value, kind):
    assert kind_of(value) == kind


@pytest.mark.parametrize(
    ("like", "assignment", "expression"),
    [
        (1, "x = SOURCE", "x"),
        ({}, "x = SOURCE", "x"),
        (set(), "x = set(SOURCE)", "sorted(x)"),
        (numpy.zeros(1), "import numpy\nx = numpy.array(SOURCE)", "x.tolist()"),
        (FRAME, "import pandas\nx = pandas.DataFrame(SOURCE)", "x.to_dict('list')"),
        (FRAME["a"], "import pandas\nx = pandas.Series(SOURCE)", "x.to_dict()"),
        (Robot(0, 0, 0), "x = Robot(**SOURCE)", "vars(x)"),
    ],
)
def test_source_builds_and_tells_a_variable(like, assignment, expression):
    assert rebuilding("x", like, "SOURCE") == assignment
    assert telling("x", like) == expression


def test_an_object_comes_back_from_json():
    robot = Robot(1, 2, 3)
    assert from_json(as_json(robot), Robot(0, 0, 0)) == robot
    assert from_json({"a": [1]}, FRAME).equals(pandas.DataFrame({"a": [1]}))
    assert from_json([1], [2]) == [1]
    assert [is_record(one) for one in (robot, Robot, 1)] == [True, False, False]


@pytest.mark.parametrize(
    ("expected", "actual", "is_same"),
    [
        (1e9, 1e9 + 900, True),
        (1e9, 1e9 + 1100, False),
        (0.0, 5e-10, True),
        (0.0, 5e-9, False),
        (True, True, True),
        (1, True, False),
        (1.0, True, False),
        (True, 1, False),
        ({"a": [1.0]}, {"a": [1]}, True),
        ({"a": 1}, {"b": 1}, False),
        ({"a": 1}, {"a": 2}, False),
        ([1, 2], [1, 3], False),
        ([1], {"0": 1}, False),
        ("a", "a", True),
        (None, None, True),
    ],
)
def test_json_agrees_up_to_a_millionth(expected, actual, is_same):
    assert are_same(expected, actual) is is_same


def test_differing_names_are_sorted():
    assert differing({"b": 1, "a": 1, "c": 1, "e": None}, {"c": 1, "a": 2, "d": 1}) == ("a", "b", "d", "e")
