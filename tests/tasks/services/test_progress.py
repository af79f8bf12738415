import re
import sys
import time

import pytest
from rich.progress import Progress

from carryover.tasks.services import progress as module
from carryover.tasks.services.progress import (
    RateColumn,
    StageProgress,
    TimeLeftColumn,
    no_bar,
    pace,
    progress_bar,
    waiting_line,
)


def test_without_a_terminal_a_stage_ends_in_one_line(capsys):
    with progress_bar("teacher", 3, "episodes") as advance:
        advance(1)
        advance(2)
    (line,) = capsys.readouterr().err.splitlines()
    assert re.fullmatch(r"teacher: 3 of 3 episodes in \d+ s.*", line)


def test_long_stages_without_a_terminal_tell_rate_and_remaining_time(capsys, monkeypatch):
    monkeypatch.setattr(module, "PLAIN_INTERVAL_SECONDS", 0.0)
    with progress_bar("teacher", 12, "episodes") as advance:
        advance(10)
        advance(1)
        advance(1)
    first, second, last = capsys.readouterr().err.splitlines()
    assert re.fullmatch(r"teacher: 10 of 12 episodes in \d+ s, [\d.]+/s, \d+ s left", first)
    assert second.startswith("teacher: 11 of 12 episodes in ")
    assert last.startswith("teacher: 12 of 12 episodes in ")


def test_lines_come_at_an_interval(capsys, monkeypatch):
    times = iter([0.0, 29.0, 30.0, 31.0, 59.0, 60.0, 61.0])
    monkeypatch.setattr(module.time, "monotonic", lambda: next(times))
    with progress_bar("teacher", 9, "episodes") as advance:
        for _ in range(5):
            advance(1)
    monkeypatch.undo()
    lines = capsys.readouterr().err.splitlines()
    assert [line.partition(", ")[0] for line in lines] == [
        "teacher: 2 of 9 episodes in 30 s",
        "teacher: 5 of 9 episodes in 60 s",
        "teacher: 5 of 9 episodes in 61 s",
    ]


@pytest.mark.parametrize(
    ("done", "seconds", "told"),
    [
        (1, 60.0, "1 of 100 episodes in 60 s, 60 s per episode"),  # others of the same age are still playing
        (9, 1.0, "9 of 100 episodes in 1 s, 9.0/s"),
        (10, 100.0, "10 of 100 episodes in 100 s, 0.1/s, 900 s left"),
        (10, 500.0, "10 of 100 episodes in 500 s, 50 s per episode, 4500 s left"),
        (0, 60.0, "0 of 100 episodes in 60 s"),
        (100, 0.5, "100 of 100 episodes in 0 s, 200/s"),
    ],
)
def test_few_episodes_tell_no_estimate_and_slow_ones_no_rate(done, seconds, told):
    stage = StageProgress("teacher", 100, "episodes")
    stage.add(done, "")
    assert stage.describe(seconds) == (done, f"teacher: {told}")


def test_a_detail_stays_until_the_next_one():
    stage = StageProgress("training", 4, "steps")
    for detail, told in (("loss 1", "loss 1"), ("", "loss 1"), ("loss 2", "loss 2")):
        stage.add(1, detail)
        assert stage.describe(1.0)[1].endswith(f"/s, {told}")


def test_more_units_than_planned_are_all_of_them():
    stage = StageProgress("merge", 2, "rows")
    stage.add(3, "")
    assert stage.describe(0.0) == (100.0, "merge: 3 of 2 rows in 0 s")


@pytest.mark.parametrize(
    ("rate", "told"), [(0.04, "25 s per step"), (0.05, "0.1/s"), (99.94, "99.9/s"), (100.0, "100/s"), (100.6, "101/s")]
)
def test_a_pace_has_digits_where_they_tell_something(rate, told):
    assert pace(rate, "steps") == told


def test_a_bar_of_few_units_tells_the_time_that_it_took():
    clock = iter(range(1000))
    progress = Progress(get_time=lambda: next(clock))
    task = progress.add_task("base", total=2, unit="models")
    column = TimeLeftColumn(elapsed_when_finished=True)
    progress.advance(task)
    assert column.render(progress.tasks[task]).plain == "-:--:--"
    progress.advance(task)
    assert column.render(progress.tasks[task]).plain.startswith("0:00:0")


def test_a_bar_tells_the_time_left_after_some_units():
    clock = iter(range(1000))
    progress = Progress(get_time=lambda: next(clock))
    task = progress.add_task("teacher", total=100, unit="episodes")
    shown = []
    for _ in range(11):
        progress.advance(task)
        shown.append(TimeLeftColumn().render(progress.tasks[task]).plain)
    assert set(shown[:9]) == {"-:--:--"}
    assert "-:--:--" not in shown[9:]


def test_a_detail_stands_at_the_end_of_a_line(capsys, monkeypatch):
    monkeypatch.setattr(module, "PLAIN_INTERVAL_SECONDS", 0.0)
    with progress_bar("training", 20, "steps") as advance:
        advance(10, "loss 0.250")
    assert capsys.readouterr().err.splitlines()[0].endswith(" s left, loss 0.250")


def test_where_there_is_nothing_to_do_nothing_is_shown(capsys):
    with progress_bar("merge", 0, "rows") as advance:
        advance(0)
    with no_bar("merge", 3, "rows") as advance:
        advance(3, "episodes")
    assert capsys.readouterr() == ("", "")


def test_lines_go_to_standard_error_alone(capsys):
    with progress_bar("teacher", 1, "episodes") as advance:
        advance(1)
    assert capsys.readouterr().out == ""


def test_a_stage_that_fails_lets_its_error_through():
    with pytest.raises(ValueError, match="broken"), progress_bar("teacher", 1, "episodes"):
        raise ValueError("broken")


def test_waiting_says_what_for_once(capsys):
    with waiting_line("starting a server") as tell:
        tell("1 s")
        tell("2 s")
    assert capsys.readouterr().err == "starting a server\n"


def test_bars_share_one_display_that_ends_with_the_last(monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with progress_bar("first", 2, "episodes") as advance:
        with progress_bar("second", 1, "episodes") as other:
            shown = module.display.progress
            assert shown is not None
            assert shown.live.is_started
            assert shown.console.stderr
            assert [task.description for task in shown.tasks] == ["first (episodes)", "second (episodes)"]
            advance(1)
            other(1)
        assert module.display.progress is shown
        assert [task.completed for task in shown.tasks] == [1, 1]
    assert module.display.progress is None
    assert not shown.live.is_started


def test_a_rate_is_a_dash_until_there_is_one():
    clock = iter(range(0, 1000, 50))
    progress = Progress(get_time=lambda: next(clock))
    task = progress.add_task("teacher", total=10, unit="episodes")
    assert RateColumn().render(progress.tasks[task]).plain == "-/s"
    for _ in range(3):
        progress.advance(task)
    assert RateColumn().render(progress.tasks[task]).plain == "83 s per episode"


def test_a_terminal_shows_what_a_wait_is_about(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("FORCE_COLOR", "1")
    with waiting_line("starting a server") as tell:
        tell("loading")
        time.sleep(0.2)
        tell("")
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "starting a server: loading" in shown.err
