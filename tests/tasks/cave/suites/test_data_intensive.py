"""The history of prices behind the data suites, and how it is fetched."""

import hashlib
from datetime import date

import pytest

from carryover.tasks.cave.suites.data_intensive import data_intensive_cases
from carryover.tasks.runtime.inside.tools import ToolRuntimeException
from carryover.tasks.services.source_digest import canonical_json


@pytest.fixture(scope="module")
def world():
    return data_intensive_cases(0, 1, 1)[0].world


def test_prices_of_a_seed_are_the_kept_ones(world):
    """Answers of recorded episodes follow from them."""
    history = world.data["prices"].to_dict("list")
    assert hashlib.sha256(canonical_json(history).encode()).hexdigest()[:16] == "c168d99675e74459"
    days = [date.fromisoformat(day) for day in history["date"]]
    assert (days[0], days[-1]) == (date(2020, 1, 1), date(2020, 12, 31))
    assert len(days) == 2 * 262 == 2 * len(set(days))
    assert all(day.weekday() < 5 for day in days)
    assert history["ticker"] == ["AXL"] * 262 + ["BRD"] * 262
    rows = zip(*(history[name] for name in ("low", "open", "close", "high")), strict=True)
    assert all(low <= min(opened, close) <= max(opened, close) <= high for low, opened, close, high in rows)


@pytest.mark.parametrize(
    ("years", "last"), [(1, "2020-12-31"), (2, "2021-12-31"), (4, "2023-12-29"), (5, "2024-12-31")]
)
def test_a_history_ends_with_its_last_trading_day(years, last):
    case = data_intensive_cases(1, years, 1)[0]
    days = list(case.world.data["prices"]["date"])
    assert (days[-1], case.size) == (last, len(days))


def test_prices_are_fetched_by_ticker_from_one_day_to_another(world):
    fetch = world.functions["fetch_prices"]
    prices = world.data["prices"]
    chosen = prices[(prices["ticker"] == "BRD") & prices["date"].between("2020-03-02", "2020-03-04")]
    fetched = fetch("BRD", "2020-03-02", "2020-03-04")
    assert fetched == chosen.to_dict("list")
    assert fetched["date"] == ["2020-03-02", "2020-03-03", "2020-03-04"]
    with pytest.raises(ToolRuntimeException, match=r"^no ticker 'XYZ'; choose from AXL, BRD$"):
        fetch("XYZ", "2020-03-02", "2020-03-04")


def test_a_task_binds_an_answer_or_a_chart():
    cases = data_intensive_cases(0, 1, 2)
    told = [(case.tier, case.number, case.suite, [*case.world.variables]) for case in cases]
    assert told == [
        (tier, number, "data_intensive", ["chart" if tier == "visualization" else "answer"])
        for tier in ("query", "analysis", "visualization")
        for number in range(2)
    ]
    assert cases[0].world.descriptions == {
        "prices": "one row per trading day and ticker: date (text, ISO), ticker, open, high, low, close, volume",
        "answer": "Bind the answer to this name.",
        "chart": "Bind an ECharts option to this name, as a dictionary of plain values; axis categories in xAxis.data.",
    }
    chart = cases[-1]
    assert chart.differing({"chart": None}, {"chart": None}) == ("chart: the chart is not an object",)
    assert cases[0].differing({"answer": 1}, {"answer": 1}) == ()
