import re
import sys

import pytest
from rich.progress import Progress

from carryover.tasks.services import progress as module
from carryover.tasks.services.progress import RateColumn, no_bar, progress_bar, waiting_line


def test_without_a_terminal_a_stage_ends_in_one_line(capsys):
    with progress_bar("teacher", 3, "episodes") as advance:
        advance(1)
        advance(2)
    (line,) = capsys.readouterr().err.splitlines()
    assert re.fullmatch(r"teacher: 3 of 3 episodes in \d+ s.*", line)


def test_long_stages_without_a_terminal_tell_rate_and_remaining_time(capsys, monkeypatch):
    monkeypatch.setattr(module, "PLAIN_INTERVAL_SECONDS", 0.0)
    with progress_bar("teacher", 3, "episodes") as advance:
        advance(1)
        advance(1)
        advance(1)
    first, second, last = capsys.readouterr().err.splitlines()
    assert re.fullmatch(r"teacher: 1 of 3 episodes in \d+ s, [\d.]+/s, \d+ s left", first)
    assert second.startswith("teacher: 2 of 3 episodes in ")
    assert last.startswith("teacher: 3 of 3 episodes in ")


def test_a_detail_stands_at_the_end_of_a_line(capsys, monkeypatch):
    monkeypatch.setattr(module, "PLAIN_INTERVAL_SECONDS", 0.0)
    with progress_bar("training", 2, "steps") as advance:
        advance(1, "loss 0.250")
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
            assert [task.description for task in shown.tasks] == ["first (episodes)", "second (episodes)"]
            advance(1)
            other(1)
        assert module.display.progress is shown
        assert [task.completed for task in shown.tasks] == [1, 1]
    assert module.display.progress is None


def test_a_rate_is_a_dash_until_there_is_one():
    progress = Progress()
    task = progress.add_task("teacher", total=10)
    assert RateColumn().render(progress.tasks[task]).plain == "-/s"
