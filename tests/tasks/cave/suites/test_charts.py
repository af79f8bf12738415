"""Charts are compared by what they draw, and a browser draws each of them."""

import json

import pytest

from carryover.tasks.cave.suites.catalogue import suite_cases
from carryover.tasks.cave.suites.charts import Drawn, chart_differing, drawn
from tests.tasks.cave.suites.echarts import ECHARTS

LINE = {"xAxis": {"data": ["a", "b"]}, "series": [{"type": "line", "data": [1.0, 2.0]}]}


@pytest.mark.parametrize(
    "chart",
    [
        LINE,
        {"xAxis": [{"data": ["a", "b"]}], "series": {"type": "line", "data": [1.001, {"value": 2.0}]}},
        {"xAxis": {"type": "category"}, "series": [{"type": "line", "data": [["a", 1], ["b", 2]]}]},
    ],
)
def test_equal_pictures_pass(chart):
    assert chart_differing({"chart": LINE}, {"chart": chart}) == ()


@pytest.mark.parametrize(
    ("chart", "reason"),
    [
        (None, "chart: the chart is not an object"),
        ({"series": []}, "chart: the chart has no series"),
        ({"series": [{"type": "line"}]}, "chart: a series has no data"),
        ({**LINE, "series": [{"type": "line", "data": []}]}, "chart: a series has no data"),
        ({**LINE, "series": [{"type": "line", "data": "1, 2"}]}, "chart: a series has no data"),
        ({**LINE, "series": [{"type": "bar", "data": [1, 2]}]}, "chart: series ['bar'], expected ['line']"),
        ({**LINE, "series": [{"type": "line", "data": [1, 3]}]}, "chart: points of series 0"),
        ({**LINE, "xAxis": {"data": ["b", "a"]}}, "chart: points of series 0"),
    ],
)
def test_other_pictures_fail_with_the_reason(chart, reason):
    assert chart_differing({"chart": LINE}, {"chart": chart}) == (reason,)


SOURCES = [
    [["letter", "count", "more"], ["a", 1, 5], ["b", 2, 6]],
    [{"letter": "a", "count": 1, "more": 5}, {"letter": "b", "count": 2, "more": 6}],
    {"letter": ["a", "b"], "count": [1, 2], "more": [5, 6]},
]


@pytest.mark.parametrize("source", SOURCES)
def test_series_may_take_their_points_from_a_dataset(source):
    chart = {"dataset": {"source": source}, "series": [{"type": "line"}]}
    assert chart_differing({"chart": LINE}, {"chart": chart}) == ()
    other = {"dataset": [{"source": source}], "series": [{"type": "line", "encode": {"x": "letter", "y": "more"}}]}
    assert chart_differing({"chart": LINE}, {"chart": other}) == ("chart: points of series 0",)
    unknown = {**chart, "series": [{"type": "line", "encode": {"y": "fewer"}}]}
    assert chart_differing({"chart": LINE}, {"chart": unknown}) == ("chart: the dataset has no column 'fewer'",)


def test_pie_may_take_its_parts_from_a_dataset():
    pie = {"series": [{"type": "pie", "data": [{"name": "a", "value": 1}, {"name": "b", "value": 2}]}]}
    chart = {"dataset": {"source": SOURCES[0]}, "series": {"type": "pie"}}
    assert chart_differing({"chart": pie}, {"chart": chart}) == ()


def bars(**second):
    both = [{"type": "bar", "data": [1, 2]}, {"type": "bar", "data": [3, 4]}]
    return {"xAxis": {"data": ["a", "b"]}, "series": [{**both[0], **second.pop("first", {})}, {**both[1], **second}]}


def test_stacks_and_second_axes_are_compared():
    stacked = bars(first={"stack": "all"}, stack="all")
    assert chart_differing({"chart": stacked}, {"chart": bars(first={"stack": "x"}, stack="x")}) == ()
    assert chart_differing({"chart": stacked}, {"chart": bars()}) == (
        "chart: series 0 is stacked with [], not [0, 1]",
        "chart: series 1 is stacked with [], not [0, 1]",
    )
    assert chart_differing({"chart": bars()}, {"chart": bars(stack="alone")}) == ()
    second = bars(yAxisIndex=1)
    assert chart_differing({"chart": second}, {"chart": bars()}) == ("chart: axes [0, 0] of series 1, expected [0, 1]",)


AXES = {"xAxis": [{"data": ["a", "b"]}, {"data": ["c"]}, "none"]}


@pytest.mark.parametrize(
    ("series", "kind", "points"),
    [
        ({"type": "bar", "data": [1, {"value": 2, "name": "n"}]}, "bar", [["a", 1], ["b", 2]]),
        ({"type": "bar", "data": [1, 2], "xAxisIndex": "1"}, "bar", [["a", 1], ["b", 2]]),
        ({"type": "bar", "data": [1, 2], "xAxisIndex": 1}, "bar", [["c", 1], [None, 2]]),
        ({"type": "bar", "data": [1, 2], "xAxisIndex": 2}, "bar", [1, 2]),
        ({"type": "bar", "data": [1, 2], "xAxisIndex": 3}, "bar", [1, 2]),
        ({"type": "bar", "data": [1, 2], "xAxisIndex": -1}, "bar", [1, 2]),
        ({"type": "scatter", "data": [[1, 2]]}, "scatter", [[1, 2]]),
        ({"type": "candlestick", "data": [[1, 2, 0, 3]]}, "candlestick", [["a", [1, 2, 0, 3]]]),
        ({"type": "pie", "data": [{"name": "x", "value": 1}, 2]}, "pie", [["x", 1], [None, 2]]),
        ({"data": [1]}, "None", [["a", 1]]),
    ],
)
def test_a_series_draws_points_by_category_and_name(series, kind, points):
    axes = {2: (2, 0), 1: (1, 0), 3: (3, 0), -1: (-1, 0)}.get(series.get("xAxisIndex"), (0, 0))
    assert drawn({**AXES, "series": [series, "no series"]}) == [Drawn(kind, points, axes)]


def test_charts_agree_up_to_half_a_percent():
    def line(*values):
        return {"chart": {"series": [{"type": "line", "data": [[1, [value, "a"]] for value in values]}]}}

    assert chart_differing(line(100.0, 0), line(100.4, 1e-10)) == ()
    for other in (line(101.0, 0), line(100.0, 1e-8), line(100.0), line(100.0, "0"), line(100.0, [0])):
        assert chart_differing(line(100.0, 0), other) == ("chart: points of series 0",)


def test_every_wrong_series_is_told():
    assert chart_differing({"chart": bars()}, {"chart": bars(first={"data": [1, 9]}, data=[3, 9])}) == (
        "chart: points of series 0",
        "chart: points of series 1",
    )
    stacked = bars(first={"stack": "all"}, stack="all")
    stacked["series"].append({"type": "bar", "stack": "other", "data": [5, 6]})
    assert [one.stacked_on for one in drawn(stacked)] == [(0, 1), (0, 1), ()]


@pytest.fixture
def echarts():
    return ECHARTS


@pytest.mark.browser
def test_every_golden_chart_renders_in_chromium(echarts, tmp_path):
    from tests.flows.cli.chromium import open_page

    cases = [case for case in suite_cases("data_intensive", 0) if case.tier == "visualization"]
    charts = [case.expected[-1].state["chart"] for case in cases]
    draw = "c => { const b = document.body.appendChild(document.createElement('div')); b.className = 'chart';"
    draw += "echarts.init(b, null, {renderer: 'svg', width: 800, height: 400}).setOption({animation: false, ...c}) }"
    page_file = tmp_path / "charts.html"
    page_file.write_text(
        f"<body><script src='file://{echarts}'></script><script>({json.dumps(charts)}).forEach({draw})</script></body>"
    )
    with open_page() as page:
        page.show(f"file://{page_file}", 1280)
        assert page.reported("Log.entryAdded", "Runtime.exceptionThrown") == []
        marks = page.ask("[...document.querySelectorAll('.chart')].map(c => c.querySelectorAll('svg path').length)")
    assert len(marks) == 10
    assert min(marks) >= 4  # a pie of two parts has two sectors and two lines to their labels
