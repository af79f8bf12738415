"""The page of suites: turns of the latest comparison with expected and found state."""

import json

import pytest

from carryover.storage.warehouse.reader import Warehouse
from carryover.tasks.viewer.pages import answer
from carryover.tasks.viewer.suites_page import checked_states
from tests.tasks.viewer.asking import MadeUp
from tests.tasks.viewer.viewer_home import comparison_rows, make_viewer_home


@pytest.fixture(scope="module")
def ask(tmp_path_factory):
    home = make_viewer_home(tmp_path_factory.mktemp("suites"), more=comparison_rows())
    with Warehouse.open(home / "warehouse.duckdb") as warehouse:
        yield lambda query, **parameters: warehouse.sql(query, **parameters).arrow()


def test_suites_are_those_of_the_latest_comparison(ask):
    turns = answer(ask, "plan", "suites")["turns"]
    assert [(turn["suite"], turn["arm"], turn["episode_id"]) for turn in turns] == [
        ("data_intensive", "json", "chart"),
        ("older", "json", "before"),
        ("types", "json", "c"),
    ]
    assert answer(ask, "plan", "study")["has_suites"]


def test_a_case_tells_expected_and_found_state(ask):
    (turn,) = [turn for turn in answer(ask, "plan", "suites")["turns"] if turn["suite"] == "types"]
    wrong, right = turn["states"]
    assert (wrong["name"], wrong["is_wrong"]) == ("total", True)
    assert (wrong["expected"]["text"], wrong["found"]["text"]) == ("3", '"three"')
    assert (right["name"], right["is_wrong"]) == ("log", False)
    assert turn["wrong"] == ["total", "not told: done"]


def test_a_chart_tells_what_its_series_draw(ask):
    (turn,) = [turn for turn in answer(ask, "plan", "suites")["turns"] if turn["suite"] == "data_intensive"]
    (chart,) = turn["states"]
    (expected,) = chart["expected"]["series"]
    assert (expected["kind"], expected["points"]) == ("line", [["a", 1.0], ["b", 2.0]])
    assert chart["found"]["series"] is None
    assert chart["is_wrong"]


def side(value, series=None):
    return {"text": json.dumps(value, ensure_ascii=False), "series": series}


NOWHERE = {"text": "", "series": None}


def test_an_unreadable_state_is_found_nowhere():
    assert checked_states({"expected": {"x": 1}, "found": None}, ["unreadable state: TypeError: x"]) == [
        {"name": "x", "is_wrong": True, "expected": side(1), "found": NOWHERE}
    ]


def test_wrong_states_stand_first_and_each_has_both_sides():
    bars = {"xAxis": {"data": ["a"]}, "series": [{"type": "bar", "data": [1.0]}]}
    drawn = [{"kind": "bar", "points": [["a", 1.0]], "axes": (0, 0), "stacked_on": ()}]
    kept = {
        "expected": {"b": "é", "a": 1, "chart": bars, "total": 2},
        "found": {"b": "e", "chart": bars, "more": bars, "total": 2},
    }
    found = checked_states(kept, ["b: another text", "total: ", "mor"])
    assert found == [
        {"name": "b", "is_wrong": True, "expected": side("é"), "found": side("e")},
        {"name": "total", "is_wrong": True, "expected": side(2), "found": side(2)},
        {"name": "a", "is_wrong": False, "expected": side(1), "found": NOWHERE},
        {"name": "chart", "is_wrong": False, "expected": side(bars, drawn), "found": side(bars, drawn)},
        {"name": "more", "is_wrong": False, "expected": NOWHERE, "found": side(bars)},
    ]


@pytest.mark.parametrize(
    ("wrong_json", "state_json", "wrong", "states"),
    [
        (None, None, [], []),
        ("", '{"expected": {}, "found": {}}', [], []),
        ('["x"]', '{"expected": {"x": 1}, "found": {"x": 1}}', ["x"], [("x", True)]),
    ],
)
def test_a_turn_is_shown_with_its_states(wrong_json, state_json, wrong, states):
    ask = MadeUp(suite_turns=[{"suite": "s", "wrong_json": wrong_json, "state_json": state_json}])
    (turn,) = answer(ask, "plan", "suites")["turns"]
    assert ask.asked == [("suite_turns", {"plan_digest": "plan"})]
    assert turn.keys() == {"suite", "wrong", "states"}
    assert (turn["suite"], turn["wrong"]) == ("s", wrong)
    assert [(state["name"], state["is_wrong"]) for state in turn["states"]] == states


def test_turns_without_a_kept_state_show_none(ask):
    (turn,) = [turn for turn in answer(ask, "plan", "suites")["turns"] if turn["suite"] == "older"]
    assert (turn["states"], turn["wrong"]) == ([], ["x"])
