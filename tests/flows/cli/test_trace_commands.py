"""Commands on traces pass on what they are given."""

from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from carryover.flows.cli import trace_commands
from carryover.flows.cli.traces import exchange, pair, probe, replay, view
from carryover.flows.cli.traces import lint as linting
from carryover.flows.cli.traces import paired as pairing
from carryover.flows.cli.traces.pair import Asked
from carryover.flows.cli.traces.probe import ProbeRequest
from carryover.tasks.plans import difference
from carryover.tasks.stages import imports
from tests.flows.cli.calling import COMMAND, call, note_calls, run

HOME = Path("/study")


@pytest.fixture
def opened(monkeypatch):
    """Open a warehouse that tells its data folder."""

    @contextmanager
    def open_warehouse(home, results=None):
        yield f"warehouse of {home}"

    monkeypatch.setattr(trace_commands, "open_warehouse", open_warehouse)


@pytest.fixture
def given(monkeypatch):
    """Replace a function that a command calls; return what it was given."""

    return partial(note_calls, monkeypatch)


@pytest.mark.usefixtures("opened")
def test_episode_asks_by_id_or_by_cell_and_instance(given):
    seen = given(pair, "print_asked")
    run("episode", "4f2a", "--home", HOME)
    run("episode", "--cell", "P->S", "--instance", "3", "--plan", "2f3a", "--pair")
    assert seen == [
        (f"warehouse of {HOME}", None, Asked("4f2a", None, None), {"is_pair": False}),
        ("warehouse of None", "2f3a", Asked(None, "P->S", "3"), {"is_pair": True}),
    ]


@pytest.fixture
def viewed(monkeypatch, given):
    """What the viewer was opened for, served and written."""
    seen = SimpleNamespace(
        opened=[], served=given(view, "serve_viewer"), written=given(view, "write_viewer", "the page")
    )

    @contextmanager
    def open_viewed(*arguments):
        seen.opened.append(arguments)
        yield "rows"

    monkeypatch.setattr(view, "open_viewed", open_viewed)
    return seen


def test_view_serves_on_a_free_port_of_this_machine(viewed):
    assert run("view") == ""
    run("view", "traces", "--home", HOME, "--plan", "2f3a", "--contract", "stateless", "--host", "0.0.0.0",
        "--port", 8080, "--no-open")  # fmt: skip
    assert viewed.opened == [(None, None, "persistent"), (Path("traces"), HOME, "stateless")]
    assert viewed.served == [
        ("rows", None, {"host": "127.0.0.1", "port": 0, "opens": True}),
        ("rows", "2f3a", {"host": "0.0.0.0", "port": 8080, "opens": False}),
    ]
    assert viewed.written == []


def test_view_writes_a_file_instead_of_serving(viewed):
    assert run("view", "--out", "page.html", "--where", "score < 1", "--plan", "2f3a") == "the page\n"
    run("view", "--out", "folder")
    assert viewed.written == [
        ("rows", "2f3a", Path("page.html"), "score < 1"),
        ("rows", None, Path("folder"), "true"),
    ]
    assert viewed.served == []


@pytest.mark.usefixtures("opened")
def test_diff_compares_runs_in_the_order_given(given, monkeypatch):
    monkeypatch.setattr(replay, "describe_run", lambda warehouse, run: f"{run} in {warehouse}")
    seen = given(difference, "describe_difference", ["another plan", "another source"])
    assert run("diff", "first", "second", "--home", HOME) == "another plan\nanother source\n"
    assert seen == [(f"first in warehouse of {HOME}", f"second in warehouse of {HOME}")]


@pytest.fixture
def linted(given):
    return SimpleNamespace(
        files=given(linting, "lint_files", "of files"),
        warehouse=given(linting, "lint_warehouse", "of the warehouse"),
        losses=given(linting, "choose_losses", "losses"),
        reported=given(linting, "report_lint", 2),
    )


@pytest.mark.usefixtures("opened")
def test_lint_reads_files_or_the_warehouse(linted):
    for words in (
        ["a.json", "b", "--contract", "stateless", "--against", "stateless", "--per-trace", "--save", "x.csv",
         "--save", "y.html", "--format", "json"],
        ["--home", str(HOME), "--plan", "2f3a", "--runtime", "probe.json"],
        [],
    ):  # fmt: skip
        assert CliRunner().invoke(COMMAND, ["lint", *words], catch_exceptions=False).exit_code == 2
    ((files, contract, tally),) = linted.files
    assert (files, contract) == ([Path("a.json"), Path("b")], "stateless")
    assert linted.warehouse == [(f"warehouse of {HOME}", "2f3a"), ("warehouse of None", None)]
    assert linted.losses == [("stateless", None), (None, "probe.json"), (None, None)]
    saved = [Path("x.csv"), Path("y.html")]
    first, second, third = linted.reported
    assert first == ("of files", tally, "losses", linting.LintOutput("json", True, saved, True))
    assert second[0] == "of the warehouse"
    assert second[3] == linting.LintOutput("rich", False, (), True)
    assert third[3] == linting.LintOutput("rich", False, (), False)


def test_probe_exits_with_the_code_of_its_report(given):
    seen = given(probe, "report_probe", 2)
    for words in (
        ["stateless"],
        ["mcp:server", "--claims", "persistent", "--python", "/bin/python", "--channel", "files", "--channel",
         "modules", "--tool", "run", "--hostile", "--format", "json"],
    ):  # fmt: skip
        assert CliRunner().invoke(COMMAND, ["probe", *words], catch_exceptions=False).exit_code == 2
    assert seen == [
        (ProbeRequest("stateless", None, None, None, False, ()), "rich"),
        (
            ProbeRequest("mcp:server", "persistent", "/bin/python", "run", True, ["files", "modules"]),
            "json",
        ),
    ]


def test_paired_compares_in_the_order_given(given):
    seen = given(pairing, "print_paired")
    run("paired", "a", "b")
    run("paired", "a", "b", "--home", HOME, "--where", "score > 0", "--format", "csv")
    assert seen == [("a", "b", None, "true", "rich"), ("a", "b", HOME, "score > 0", "csv")]


@pytest.mark.usefixtures("opened")
def test_export_counts_what_it_wrote(given):
    seen = given(exchange, "export_episodes", 3)
    assert run("export", "folder") == "3 episodes in folder\n"
    run("export", "folder", "--home", HOME, "--to", "atif", "--where", "score > 0", "--plan", "2f3a")
    assert seen == [
        ("warehouse of None", Path("folder"), "jsonl", "true", None),
        (f"warehouse of {HOME}", Path("folder"), "atif", "score > 0", "2f3a"),
    ]


def test_import_tells_what_it_read_and_what_not(given):
    merged = SimpleNamespace(left_out=lambda: ["c.json is newer"])
    report = SimpleNamespace(
        unread=["a.txt is unread"], passed_over=["b is left out"], episode_count=2, step_count=7, merged=merged
    )
    seen = given(imports, "import_episodes", report)
    called = call("import", "traces", "--contract", "stateless")
    assert called.stderr == "a.txt is unread\nb is left out\nc.json is newer\n"
    assert called.stdout == (
        "2 episodes imported from traces, 7 executed blocks; `carryover tables --plan import` shows them\n"
    )
    call("import", "traces", "--contract", "persistent", "--home", HOME, "--model", "m", "--train-contract",
         "stateless", "--purpose", "teacher", "--family", "knapsack", "--bucket", "hard", "--split", "train",
         "--scale", "paper", "--plan", "mine")  # fmt: skip
    default = {
        "train_contract": None, "purpose": "evaluation", "bucket": "easy", "split": None, "scale": "import",
        "runtime_contract": "stateless", "model_name": "imported", "plan": "import", "family": None,
    }  # fmt: skip
    chosen = {
        "train_contract": "stateless", "purpose": "teacher", "bucket": "hard", "split": "train", "scale": "paper",
        "runtime_contract": "persistent", "model_name": "m", "plan": "mine", "family": "knapsack",
    }  # fmt: skip
    assert seen == [(Path("traces"), None, default), (Path("traces"), HOME, chosen)]
