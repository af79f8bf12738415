"""Answers by path, as JSON."""

from datetime import UTC, datetime
from pathlib import PurePosixPath

import pytest

from carryover.tasks.analysis.queries import command_sql, table_query
from carryover.tasks.services.errors import UserError
from carryover.tasks.viewer.pages import answer, as_json
from tests.tasks.viewer.asking import MadeUp

PATHS = "choose from study, episodes, tables, figures, training, suites, run, episode/ID"


@pytest.mark.parametrize("path", ["", "episode", "episode/", "files/etc"])
def test_unknown_paths_are_refused(path):
    with pytest.raises(UserError) as refused:
        answer(MadeUp(), "plan", path)
    assert str(refused.value) == f"no page {path!r}; {PATHS}"


def test_what_is_no_number_is_null():
    values = {"a": [float("nan"), 1.5], "b": float("inf"), "c": (-float("inf"), "nan", 2)}
    assert as_json(values) == '{"a":[null,1.5],"b":null,"c":[null,"nan",2]}'


def test_times_and_paths_are_text():
    values = {"at": datetime(2026, 1, 2, 3, tzinfo=UTC), "in": PurePosixPath("a/b"), "is": True}
    assert as_json(values) == '{"at":"2026-01-02T03:00:00+00:00","in":"a/b","is":true}'


RUN = {
    "run_id": "r", "plan_name": "mine", "scale": "smoke", "started_at": "noon", "status": "running",
    "plan_json": '{"parts": []}', "environment_json": '{"python": "3"}',
}  # fmt: skip
OF_PLAN = {"plan_digest": "plan"}


def ask_of_study(cells):
    queries = {command_sql("study_run"): [RUN], table_query("mechanism").sql: []}
    return MadeUp(queries, cells=cells, study_parts=[{"has_training": True}], plans=[{"plan_name": "mine"}])


@pytest.mark.parametrize(
    ("cells", "measured_on"),
    [([], "no episodes"), ([{"measured_on": "a laptop"}, {"measured_on": "a server"}], "a laptop")],
)
def test_a_study_is_its_run_its_findings_and_its_cells(cells, measured_on):
    ask = ask_of_study(cells)
    page = answer(ask, "plan", "study")
    assert len(page.pop("findings")) == 1
    assert page == {
        "plan_digest": "plan", "plan_name": "mine", "scale": "smoke", "started_at": "noon", "status": "running",
        "measured_on": measured_on, "cells": cells, "plans": [{"plan_name": "mine"}], "has_training": True,
    }  # fmt: skip
    assert [parameters for _, parameters in ask.asked] == [OF_PLAN, OF_PLAN, OF_PLAN, OF_PLAN, {}]


def test_a_run_is_shown_with_its_plan_and_environment():
    ask = ask_of_study([])
    told = {name: value for name, value in RUN.items() if not name.endswith("_json")}
    assert answer(ask, "plan", "run") == {"run": told, "plan": {"parts": []}, "environment": {"python": "3"}}
    assert ask.asked == [(command_sql("study_run"), OF_PLAN)]
