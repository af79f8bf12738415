"""Data-intensive tasks over five years of prices (arXiv 2601.01569, Table 5)."""

import math
import random
from collections.abc import Callable
from dataclasses import replace
from datetime import date, timedelta
from functools import partial
from typing import Any

from carryover.tasks.cave.suites.case import Case, World, grow_turns
from carryover.tasks.cave.suites.charts import chart_differing
from carryover.tasks.cave.suites.templates import read_draws
from carryover.tasks.cave.suites.values import differing
from carryover.tasks.runtime.inside.tools import ToolRuntimeException

TICKERS = ("AXL", "BRD")
FIRST_YEAR = 2020
YEARS = 5
SIZES = (1, 2, 5, 10)
"""Years of history whose cost is compared."""
TASKS_PER_SIZE = 3
"""Of each kind."""
_FETCH = (
    "import pandas\nprices = pandas.concat([pandas.DataFrame(fetch_prices(t, '{first}', '{last}')) for t in {tickers}])"
)
_COLUMNS = "one row per trading day and ticker: date (text, ISO), ticker, open, high, low, close, volume"


def data_intensive_cases(seed: int, years: int = YEARS, most: int | None = None) -> list[Case]:
    """Return ten queries, ten analyses and ten charts; each is one turn.

    Of each kind `most` at most: the first ones.
    """
    history = _price_history(seed, years)
    cases = []
    for tier in ("query", "analysis", "visualization"):
        draws = read_draws("data_intensive", tier, partial(_values, years))[:most]
        for number, draw in enumerate(draws):
            random_source = random.Random(f"data_intensive {tier} {number} {seed}")
            world = _world(history, "chart" if tier == "visualization" else "answer")
            turns = grow_turns(random_source, world, [[draw]])
            check = chart_differing if tier == "visualization" else differing
            cases.append(Case("data_intensive", tier, number, world, turns, differing=check, size=len(history["date"])))
    return cases


def data_size_cases(seed: int) -> list[Case]:
    """Return nine tasks over histories of several lengths, as tiers."""
    cases = []
    for years in SIZES:
        for number, case in enumerate(data_intensive_cases(seed, years, TASKS_PER_SIZE)):
            cases.append(replace(case, suite="data_sizes", tier=f"{years:02d}", number=number))
    return cases


def _price_history(seed: int, years: int) -> dict[str, list[Any]]:
    """Return both tickers' rows by column: correlated random walks."""
    columns: dict[str, list[Any]] = {name: [] for name in ("date", "ticker", "open", "high", "low", "close", "volume")}
    market = random.Random(f"market {seed}")
    days = [date(FIRST_YEAR, 1, 1) + timedelta(days=n) for n in range(366 + 365 * (years - 1) + years // 4)]
    days = [day for day in days if day.weekday() < 5 and day.year < FIRST_YEAR + years]
    common = [market.gauss(0.0004, 0.009) for _ in days]
    for ticker, start in zip(TICKERS, (80.0, 140.0), strict=True):
        own = random.Random(f"{ticker} {seed}")
        close = start
        for day, step in zip(days, common, strict=True):
            opened = round(close * math.exp(own.gauss(0, 0.004)), 2)
            close = round(opened * math.exp(step + own.gauss(0, 0.008)), 2)
            high = round(max(opened, close) * (1 + abs(own.gauss(0, 0.004))), 2)
            low = round(min(opened, close) * (1 - abs(own.gauss(0, 0.004))), 2)
            row = (day.isoformat(), ticker, opened, high, low, close, own.randrange(200, 4000) * 1000)
            for name, value in zip(columns, row, strict=True):
                columns[name].append(value)
    return columns


def _world(history: dict[str, list[Any]], name: str) -> World:
    import pandas

    described = {
        "prices": _COLUMNS,
        "answer": "Bind the answer to this name.",
        "chart": "Bind an ECharts option to this name, as a dictionary of plain values; axis categories in xAxis.data.",
    }
    functions: dict[str, Callable[..., Any]] = {"fetch_prices": _fetcher(history)}
    data = {"prices": pandas.DataFrame(history)}
    return World(variables={name: None}, data=data, functions=functions, descriptions=described)


def _fetcher(history: dict[str, list[Any]]) -> Callable[..., Any]:
    def fetch_prices(ticker: str, first: str, last: str) -> dict:
        """Return the daily prices of a ticker (AXL, BRD) from one ISO date to another, both included, by column."""
        if ticker not in TICKERS:
            raise ToolRuntimeException(f"no ticker {ticker!r}; choose from {', '.join(TICKERS)}")
        rows = zip(history["date"], history["ticker"], strict=True)
        places = [place for place, (day, name) in enumerate(rows) if name == ticker and first <= day <= last]
        return {name: [column[place] for place in places] for name, column in history.items()}

    return fetch_prices


def _values(years: int, random_source: random.Random) -> dict[str, object]:
    year = FIRST_YEAR + random_source.randrange(years)
    month = f"{random_source.randrange(1, 13):02d}"
    ticker, other = random_source.sample(TICKERS, 2)
    spans = {
        "month": (f"{year}-{month}-01", f"{year}-{month}-31"),
        "year": (f"{year}-01-01", f"{year}-12-31"),
        "all": (f"{FIRST_YEAR}-01-01", f"{FIRST_YEAR + years - 1}-12-31"),
    }
    fetches = {}
    for span, (first, last) in spans.items():
        fetches[f"fetch_{span}"] = _FETCH.format(first=first, last=last, tickers=[ticker])
        fetches[f"fetch_{span}_both"] = _FETCH.format(first=first, last=last, tickers=list(TICKERS))
    return {"t": ticker, "u": other, "year": year, "month": month, "n": random_source.randrange(2, 20), **fetches}
