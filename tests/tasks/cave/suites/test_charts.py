"""Charts are compared by what they draw, and a browser draws each of them."""

import json

import pytest

from carryover.tasks.cave.suites.catalogue import suite_cases
from carryover.tasks.cave.suites.charts import chart_differing
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
        ({**LINE, "series": [{"type": "bar", "data": [1, 2]}]}, "chart: series ['bar'], expected ['line']"),
        ({**LINE, "series": [{"type": "line", "data": [1, 3]}]}, "chart: points of series 0"),
        ({**LINE, "xAxis": {"data": ["b", "a"]}}, "chart: points of series 0"),
    ],
)
def test_other_pictures_fail_with_the_reason(chart, reason):
    assert chart_differing({"chart": LINE}, {"chart": chart}) == (reason,)


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
