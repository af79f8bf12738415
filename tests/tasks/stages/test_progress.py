from types import SimpleNamespace
from typing import Any
from uuid import UUID

import httpx
import pytest

from carryover.tasks.services.progress import StageProgress
from carryover.tasks.stages import progress
from carryover.tasks.stages.progress import shown_progress


def test_an_artifact_tells_rate_and_time_left():
    shown = StageProgress("main, base on persistent", 40, "episodes")
    assert shown.describe(0.0) == (0.0, "main, base on persistent: 0 of 40 episodes in 0 s")
    shown.add(10, "")
    assert shown.describe(5.0) == (25.0, "main, base on persistent: 10 of 40 episodes in 5 s, 2.0/s, 15 s left")
    shown.add(30, "loss 4.6")
    assert shown.describe(20.0)[1].endswith("40 of 40 episodes in 20 s, 2.0/s, loss 4.6")


def test_outside_a_task_there_is_a_bar_alone(capsys):
    with shown_progress("merge", 2, "rows") as advance:
        advance(2)
    assert "merge: 2 of 2 rows" in capsys.readouterr().err


@pytest.fixture
def artifacts(monkeypatch):
    """What a task's artifact is created and updated with; each update is awaited once."""
    told = []

    def create(share, *, description):
        told.append(("created", share, description))
        return UUID(int=1)

    def update(artifact, share, *, description):
        told.append((artifact, share, description.partition(" in ")[0]))

    monkeypatch.setattr(progress, "TaskRunContext", SimpleNamespace(get=lambda: "a task"))
    monkeypatch.setattr(progress, "create_progress_artifact", create)
    monkeypatch.setattr(progress, "update_progress_artifact", update)
    monkeypatch.setattr(progress, "UPDATE_SECONDS", 60.0)
    return told


def test_a_tasks_artifact_ends_with_what_was_done(artifacts):
    def work():
        with shown_progress("merge", 4, "rows") as advance:
            advance(1, "one")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        work()
    assert artifacts == [
        ("created", 0.0, "merge: 0 of 4 rows in 0 s"),
        (UUID(int=1), 25.0, "merge: 1 of 4 rows"),
    ]


def test_an_artifact_is_updated_only_as_work_goes_on(artifacts):
    waits = iter([False, False, False, True])
    counts = iter([1, 0, 2, 0])
    shown = StageProgress("merge", 4, "rows")

    def advance_and_wait(_seconds):
        shown.add(next(counts), "")
        return next(waits)

    over: Any = SimpleNamespace(wait=advance_and_wait)
    progress._report(shown, UUID(int=1), over)
    told = ["merge: 1 of 4 rows", "merge: 3 of 4 rows", "merge: 3 of 4 rows"]
    assert [text for _, _, text in artifacts] == told  # not in between, and at the end in any case


@pytest.mark.parametrize("total", [0, 3])
def test_an_empty_stage_or_a_silent_server_shows_no_artifact(artifacts, monkeypatch, total):
    def fail(*_given, **_named):
        raise httpx.ConnectError("refused")

    monkeypatch.setattr(progress, "create_progress_artifact", fail)
    with shown_progress("merge", total, "rows") as advance:
        advance(total)
    assert artifacts == []


def test_a_server_that_fails_stops_no_task(artifacts, monkeypatch):
    def fail(*_given, **_named):
        raise httpx.ConnectError("refused")

    monkeypatch.setattr(progress, "update_progress_artifact", fail)
    with shown_progress("merge", 2, "rows") as advance:
        advance(2)
    assert artifacts == [("created", 0.0, "merge: 0 of 2 rows in 0 s")]
