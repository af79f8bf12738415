"""Answers by path, as JSON."""

from datetime import UTC, datetime
from pathlib import PurePosixPath

import pytest

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
