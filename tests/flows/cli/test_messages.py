import logging
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from prefect.logging.handlers import PrefectConsoleHandler

from carryover.flows.cli import messages
from carryover.flows.cli.messages import report_errors, report_unmerged
from carryover.storage.warehouse.merger import MergeReport
from carryover.storage.zone.quarantine import Refusal
from carryover.tasks.collect import Collected
from carryover.tasks.services.errors import UserError

FAILED = Collected(planned_count=3, played_count=3, error_count=3, first_error="refused")
IN_PART = Collected(planned_count=3, played_count=2, error_count=2, first_error="refused")
ONE = Collected(planned_count=1, played_count=1, error_count=1, first_error="refused")
DONE = Collected(planned_count=3, played_count=0, error_count=0)


@pytest.mark.parametrize(("collected", "count"), [([FAILED, FAILED], 6), ([ONE], 1)])
def test_a_stage_of_which_every_episode_failed_has_failed(collected, count):
    with pytest.raises(UserError) as failed:
        report_errors(collected)
    assert str(failed.value) == f"every episode, {count} in all, ended with an error; fix the cause and run it again"


@pytest.mark.parametrize("collected", [[], [DONE], [FAILED, DONE], [IN_PART]])
def test_a_stage_of_which_something_came_has_not(collected):
    report_errors(collected)


def test_failed_episodes_are_counted_with_what_comes_of_them(capsys):
    report_errors([IN_PART, DONE])
    assert " ".join(capsys.readouterr().err.split()) == (
        "2 episodes ended with an error (refused); they are kept as attempts and excluded from the tables; "
        "the next start plays 2 of them again"
    )
    report_errors([DONE, IN_PART, FAILED.model_copy(update={"given_up_count": 3, "planned_count": 9})])
    assert " ".join(capsys.readouterr().err.split()) == (
        "5 episodes ended with an error (refused); they are kept as attempts and excluded from the tables; "
        "the next start plays 2 of them again and gives up 3"
    )
    report_errors([DONE])
    assert capsys.readouterr().err == ""


def test_a_run_whose_log_prints_nothing_says_its_lines(monkeypatch, capsys):
    monkeypatch.setattr(messages, "get_run_logger", lambda: SimpleNamespace(log=lambda *_: None))
    monkeypatch.setattr(messages, "_log_printers", list)
    messages.say("done")
    assert capsys.readouterr().err == "done\n"


@pytest.mark.parametrize("is_kept_off", [False, True])
def test_a_line_is_said_once_on_the_terminal(monkeypatch, capsys, is_kept_off):
    """Where Prefect prints its log there, that says it."""
    logged = []
    logger = SimpleNamespace(log=lambda *given: logged.append(given))
    monkeypatch.setattr(messages, "get_run_logger", lambda: logger)
    printer = PrefectConsoleHandler()
    other = logging.NullHandler()
    logging.getLogger().addHandler(printer)
    logging.getLogger().addHandler(other)
    try:
        if is_kept_off:
            messages.keep_logs_off_terminal()
        messages.say("50% [done]")
        messages.warn("late")
    finally:
        logging.getLogger().removeHandler(printer)
        logging.getLogger().removeHandler(other)
    assert other.filters == []
    assert logged == [(logging.INFO, "%s", "50% [done]"), (logging.WARNING, "%s", "late")]
    assert capsys.readouterr().err == ("50% [done]\nlate\n" if is_kept_off else "")


def test_nothing_is_printed_while_the_interpreter_ends(monkeypatch):
    closed = []
    monkeypatch.setattr(os, "dup2", lambda opened, replaced: closed.append((opened, replaced)))
    monkeypatch.setattr(sys, "stderr", SimpleNamespace(flush=lambda: closed.append("flushed")))
    messages.silence_exit()
    monkeypatch.undo()
    before, (opened, replaced) = closed
    assert before == "flushed"
    assert (Path(f"/proc/self/fd/{opened}").readlink(), replaced) == (Path(os.devnull), 2)
    assert os.write(opened, b"x") == 1
    os.close(opened)


def test_what_a_merge_leaves_out_is_told(capsys):
    refused = {"refusals": (Refusal("notes.txt", "foreign"),), "newer": (Refusal("a.json", "upgrade Carryover"),)}
    report_unmerged(MergeReport(bundle_count=1, row_counts={}, insert_seconds=0.0, seconds=0.0, **refused))
    assert capsys.readouterr().err.splitlines() == [
        "quarantined notes.txt: foreign",
        "not merged a.json: upgrade Carryover",
    ]
