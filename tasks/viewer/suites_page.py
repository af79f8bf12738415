"""The page of suites: expected and found state of their cases."""

import json
from collections.abc import Mapping
from typing import Any

from carryover.tasks.analysis.asking import Ask
from carryover.tasks.cave.suites.chart_data import ChartError
from carryover.tasks.cave.suites.charts import drawn
from carryover.tasks.viewer.warehouse_rows import rows

CHART = "chart"
"""Name of the state that is a chart in the data-intensive suite."""


def suites_page(ask: Ask, plan_digest: str) -> dict[str, Any]:
    """Return the turns of a comparison's cases."""
    return {"turns": [_turn(turn) for turn in rows(ask, "suite_turns", plan_digest=plan_digest)]}


def _turn(turn: dict[str, Any]) -> dict[str, Any]:
    wrong = json.loads(turn.pop("wrong_json") or "[]")
    kept = turn.pop("state_json")
    states = [] if kept is None else checked_states(json.loads(kept), wrong)
    return {**turn, "wrong": wrong, "states": states}


def checked_states(kept: Mapping[str, Any], wrong: list[str]) -> list[dict[str, Any]]:
    """Return each checked name with its expected and found value; wrong ones first.

    A chart comes with what its series draw. A missing value has an empty text and no series.
    """
    expected = kept["expected"]
    found = kept["found"] or {}
    is_unreadable = kept["found"] is None
    states = [
        {
            "name": name,
            "is_wrong": is_unreadable or _is_named(name, wrong),
            "expected": _side(name, expected),
            "found": _side(name, found),
        }
        for name in sorted({*expected, *found})
    ]
    return sorted(states, key=lambda state: not state["is_wrong"])


def _is_named(name: str, wrong: list[str]) -> bool:
    """Tell whether a state is named wrong, with or without a reason."""
    return any(text == name or text.startswith(f"{name}: ") for text in wrong)


def _side(name: str, state: Mapping[str, Any]) -> dict[str, Any]:
    if name not in state:
        return {"text": "", "series": None}
    value = state[name]
    return {"text": json.dumps(value, ensure_ascii=False), "series": _series(value) if name == CHART else None}


def _series(option: Any) -> list[dict[str, Any]] | None:
    """Return what a chart's series draw; None where it draws nothing."""
    try:
        return [series._asdict() for series in drawn(option)]
    except ChartError:
        return None
