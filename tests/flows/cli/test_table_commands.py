"""Commands on the warehouse pass on what they are given."""

from contextlib import contextmanager
from functools import partial
from pathlib import Path

import polars as pl
import pytest

from carryover.flows.cli import table_commands
from carryover.flows.cli.results import documents, tables
from carryover.storage.warehouse import schema_reference
from carryover.tasks.analysis.questions import ABOUT_EPISODES, ABOUT_TRACES
from carryover.tasks.analysis.rendering import render_table
from carryover.tasks.stages import results
from tests.flows.cli.calling import note_calls, refused, run

HERE = ("--home", "/study", "--plan", "2f3a")
KEPT = ("--results", "laptop_full")


@pytest.fixture
def given(monkeypatch):
    """Replace a function that a command calls; return what it was given. Warehouses and plans tell their names."""

    @contextmanager
    def open_warehouse(home, results=None):
        yield f"{home} or {results}"

    monkeypatch.setattr(table_commands, "open_warehouse", open_warehouse)
    monkeypatch.setattr(table_commands, "choose_plan", lambda warehouse, plan: f"plan {plan}")

    return partial(note_calls, monkeypatch)


def test_tables_prints_one_table_or_all(given):
    plans = given(tables, "print_plan")
    ones = given(tables, "print_tables")
    run("tables")
    run("tables", *HERE, *KEPT, "--format", "csv")
    run("tables", "table_2", *HERE, "--format", "markdown")
    assert plans == [("None or None", "plan None", "rich"), ("/study or laptop_full", "plan 2f3a", "csv")]
    assert ones == [("/study or None", "plan 2f3a", ["table_2"], "markdown")]


def test_hypotheses_prints_the_verdicts_of_a_plan(given):
    seen = given(tables, "print_verdicts")
    run("hypotheses")
    run("hypotheses", *HERE, *KEPT, "--format", "csv")
    assert seen == [("None or None", "plan None", "rich"), ("/study or laptop_full", "plan 2f3a", "csv")]


def test_keep_keeps_every_named_plan_or_the_latest(given):
    seen = given(results, "keep_results", 5)
    assert run("keep", "folder", "--home", "/study") == "5 episodes in folder\n"
    run("keep", "folder", "--plan", "a", "--plan", "b", "--where", "score > 0")
    (first, second) = seen
    assert first[:3] == ("/study or None", ["plan None"], Path("folder"))
    assert first[4] == "true"
    assert second[1:3] == (["plan a", "plan b"], Path("folder"))
    assert second[4] == "score > 0"


def test_keep_recomputes_statistics_alone_on_request(given):
    kept = given(results, "keep_results")
    written = given(results, "write_statistics", 7)
    assert run("keep", "folder", "--recompute") == "7 statistics in folder\n"
    assert written[0][0] == Path("folder")
    assert kept == []


def test_questions_are_printed_or_answered_in_a_copy(given):
    printed = given(tables, "print_questions")
    written = given(tables, "write_answers", [1, 3])
    run("questions", "4", *HERE)
    run("questions", *KEPT)
    assert printed == [("/study or None", "plan 2f3a", 4), ("None or laptop_full", "plan None", None)]
    assert run("questions", "--write", "copy.md", *KEPT) == "answers 1, 3 written into copy.md\n"
    run("questions", "--write", "copy.md", *HERE)
    assert written == [
        ("None or laptop_full", "plan None", Path("copy.md"), ABOUT_EPISODES),
        ("/study or None", "plan 2f3a", Path("copy.md"), ABOUT_TRACES),
    ]


def test_figures_and_report_go_where_they_are_told(given, tmp_path):
    drawn = given(documents, "write_figures", [Path("a.svg"), Path("b.svg")])
    pages = given(documents, "write_report", Path("page.html"))
    home = tmp_path / "study"
    home.mkdir()
    for _ in range(2):  # into the same folder
        assert run("figures", "--home", home, "--plan", "2f3a") == "a.svg\nb.svg\n"
    assert drawn.pop() == drawn[0]
    run("figures", "--folder", "mine", *KEPT)
    assert drawn == [
        (f"{home} or None", "plan 2f3a", home / "documents" / "figures"),
        ("None or laptop_full", "plan None", Path("mine")),
    ]
    assert [path.name for path in home.iterdir()] == ["documents"]
    (home / "documents").rmdir()

    assert run("report", "--home", home, "--plan", "2f3a") == "page.html\n"
    assert run("report", "--home", home, "--plan", "2f3a") == "page.html\n"  # into the same folder
    assert pages.pop() == pages[0]
    run("report", "--path", "mine.html", *KEPT)
    assert pages == [
        (f"{home} or None", "plan 2f3a", home / "documents" / "report.html"),
        ("None or laptop_full", "plan None", Path("mine.html")),
    ]
    assert [path.name for path in home.iterdir()] == ["documents"]


@pytest.mark.parametrize(("command", "name"), [("figures", "figures"), ("report", "report.html")])
def test_documents_of_kept_results_need_no_data_folder(given, tmp_path, command, name):
    written = given(documents, f"write_{command}", [])
    home = tmp_path / "study"
    assert refused(command, "--home", home)[1].startswith(f"no data folder {home}; ")
    assert not home.exists()
    run(command, "--home", home, *KEPT)
    assert written == [(f"{home} or laptop_full", "plan None", home / "documents" / name)]
    assert (home / "documents").is_dir()


def test_schema_describes_one_relation_in_the_format_asked_for(given, monkeypatch):
    seen = given(schema_reference, "describe_schema", pl.DataFrame({"column": ["score"], "meaning": ["from 0 to 1"]}))
    assert run("schema", "episodes", "--format", "csv") == "column,meaning\nscore,from 0 to 1\n"
    monkeypatch.setenv("COLUMNS", "70")
    frame = pl.DataFrame({"column": ["score"], "meaning": ["from 0 to 1"]})
    assert run("schema") == render_table("schema", frame, "rich", layout="plain", width=70)
    assert seen == [("episodes",), (None,)]
