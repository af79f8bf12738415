"""Datasets of charts are read by column in each form that ECharts allows."""

import pytest

from carryover.tasks.cave.suites.chart_data import ChartError, columns_of, data_of_series

ROWS = [["letter", "count", 3], ["a", 1, 5], ["b", 2, 6]]
COLUMNS = {"letter": ["a", "b"], "count": [1, 2], "3": [5, 6]}


@pytest.mark.parametrize(
    ("dataset", "number", "columns"),
    [
        ({"source": ROWS}, 0, COLUMNS),
        ({"source": ROWS}, 7, COLUMNS),
        ([{"source": ROWS}, {"source": [["x"], [1]]}], 0, COLUMNS),
        ([{"source": ROWS}, {"source": [["x"], [1]]}], 1, {"x": [1]}),
        ([{"source": ROWS}], 1, {}),
        ([{"source": ROWS}], -1, {}),
        ([{"source": ROWS}], "0", {}),
        (None, 0, {}),
        ({"source": []}, 0, {}),
        ({"source": "letter"}, 0, {}),
        ({"source": {"letter": ["a", "b"], 3: (1, 2), 4: [5]}}, 0, {"letter": ["a", "b"], "4": [5]}),
        ({"source": [{"a": 1, 2: 3}, {"a": 4}]}, 0, {"a": [1, 4], "2": [3, None]}),
        ({"source": [{"a": 1}, ["a"]]}, 0, {}),
        ({"source": [["a", "b"], [1, 2], [3]]}, 0, {}),
        ({"source": [["a"], {"a": 1}]}, 0, {}),
        ({"source": [[1, 2], [3, 4]], "dimensions": ["a", "b", "c"]}, 0, {"a": [1, 3], "b": [2, 4]}),
        ({"source": [["a", "b"], [3, 4]], "dimensions": "ab"}, 0, {"a": [3], "b": [4]}),
    ],
)
def test_a_dataset_is_read_by_column(dataset, number, columns):
    assert columns_of(dataset, number) == columns


@pytest.mark.parametrize(
    ("series", "place", "data"),
    [
        ({}, 0, ([1, 2], ["a", "b"])),
        ({}, 1, ([5, 6], ["a", "b"])),
        ({"type": "line", "encode": {"x": "count", "y": "letter"}}, 0, (["a", "b"], [1, 2])),
        ({"type": "line", "encode": {"x": ["count"], "y": [2, 1]}}, 0, ([5, 6], [1, 2])),
        ({"type": "pie", "encode": {"itemName": 1, "value": 0}}, 0, (["a", "b"], [1, 2])),
        ({"type": "pie", "encode": {"x": 1, "y": 0}}, 0, ([1, 2], ["a", "b"])),
        ({"encode": "count"}, 0, ([1, 2], ["a", "b"])),
        ({"datasetIndex": 1}, 0, ([7], [8])),
    ],
)
def test_a_series_takes_its_columns_by_encode_or_place(series, place, data):
    dataset = [{"source": ROWS}, {"source": [["x", "y"], [8, 7]]}]
    assert data_of_series({"dataset": dataset}, series, place) == data


@pytest.mark.parametrize(
    ("dataset", "series", "place", "reason"),
    [
        (None, {}, 0, "a series has no data"),
        ({"source": [["x"], [1]]}, {}, 0, "a series has no data"),
        ({"source": ROWS}, {}, 2, "the dataset has no column 3"),
        ({"source": ROWS}, {"encode": {"x": -1}}, 0, "the dataset has no column -1"),
        ({"source": ROWS}, {"encode": {"y": "more"}}, 0, "the dataset has no column 'more'"),
        ({"source": ROWS}, {"encode": {"y": []}}, 0, r"the dataset has no column \[\]"),
    ],
)
def test_a_series_without_columns_says_why(dataset, series, place, reason):
    with pytest.raises(ChartError, match=f"^{reason}$"):
        data_of_series({"dataset": dataset}, series, place)
