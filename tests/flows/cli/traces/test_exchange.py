import csv
import json
import shutil
from datetime import UTC, datetime

import pytest
from typer.testing import CliRunner

from carryover.flows.cli.main import app
from carryover.storage.warehouse.merger import merge
from carryover.storage.warehouse.reader import Warehouse
from carryover.storage.zone.landing import LandingZone
from carryover.tasks.services.errors import UserError
from carryover.tasks.stages import imports
from carryover.tasks.traces.rows import EpisodeRow
from carryover.tasks.traces.study_rows import RunRow
from carryover.tasks.traces.vocabulary import FinishReason
from tests.bars import RecordedBars
from tests.flattening import flat
from tests.flows.cli.calling import call, import_records, run

CHAT = [
    {"role": "system", "content": "Code."},
    {"role": "user", "content": "Count."},
    {"role": "assistant", "content": "First.\n```python\nx = len(list_items())\n```"},
    {"role": "user", "content": '{"output": "", "error": null}'},
    {"role": "assistant", "content": "Then.\n```python\nprint(x)\nfinish()\n```"},
]


@pytest.fixture(scope="module")
def chat(tmp_path_factory):
    path = tmp_path_factory.mktemp("chat") / "chat.jsonl"
    records = [{"instance_id": "one", "contract": "reset", "messages": CHAT}, {"messages": CHAT}]
    path.write_text("\n".join(map(json.dumps, records)))
    return path


@pytest.fixture(scope="module")
def imported(tmp_path_factory, chat):
    home = tmp_path_factory.mktemp("imported") / "absent" / "data"
    said = run("import", chat, "--contract", "persistent", "--model", "foreign", "--home", home)
    assert said.startswith("2 episodes imported")
    return home


@pytest.fixture
def home(tmp_path, imported):
    """A data folder that importing the chat made."""
    return shutil.copytree(imported, tmp_path / "absent" / "data")


def test_lint_sums_up_per_declared_contract(chat):
    lines = run("lint", chat, "--contract", "persistent", "--format", "csv").splitlines()
    header, *rows = [line.split(",") for line in lines]
    found = {row[0]: dict(zip(header, row, strict=True)) for row in rows}
    assert found["stateless"]["contradicting_share"] == "1.0"
    assert found["persistent"]["contradicting_share"] == "0.0"


def test_lint_shows_each_trace(chat):
    output = run("lint", chat, "--per-trace", "--format", "csv")
    assert "stateless,2,0,0,needs_persistence,false,1,x" in output
    assert "takes `x` from earlier blocks, first at block 2" in output
    assert "declared stateless, but later blocks read x of earlier ones" in output


def test_tables_list_traces_in_lines_contracts_in_columns(chat):
    def table(*options):
        printed = run("lint", chat, *options, "--format", "markdown").splitlines()
        return [line for line in printed if line.startswith("|")]

    assert len(table("--per-trace")) == 2 + 2  # head and rule, and two traces
    assert table()[0].startswith("| declared contract |")


def test_lint_reads_the_warehouse_without_files(home):
    assert "needs_persistence" in run("lint", "--per-trace", "--format", "csv", "--home", home)


def test_lint_and_export_need_the_warehouse_alone(home, tmp_path):
    shutil.rmtree(home / "landing")
    assert "needs_persistence" in run("lint", "--per-trace", "--format", "csv", "--home", home)
    assert run("export", tmp_path / "out", "--to", "jsonl", "--home", home).startswith("2 episodes in ")


def test_lint_leaves_out_what_failed_as_the_export_does(home, tmp_path):
    with Warehouse.open(home / "warehouse.duckdb") as warehouse:
        episodes = warehouse.sql("from episodes order by all").arrow().to_pylist()
    episode = EpisodeRow.model_validate(episodes[0])
    failed = episode.model_copy(
        update={"run_id": "run", "episode_id": "failed", "instance_id": "two", "backend": "fork_tree",
                "finish_reason": FinishReason.ERROR}
    )  # fmt: skip
    zone = LandingZone(home / "landing")
    zone.write({"episodes": [failed]}, "run")
    merge(zone, home / "warehouse.duckdb")
    linted = run("lint", "--per-trace", "--format", "csv", "--home", home).splitlines()[1:]
    assert len(linted) == 2
    assert run("export", tmp_path / "out", "--home", home).startswith("2 episodes")


def test_lint_says_what_its_tokens_are():
    assert "words and symbols" in run("lint", "--help")


def test_an_import_brings_the_published_claims(home):
    counted = "select count(*) > 0 as there, count(distinct run_id) as runs from claims"
    assert run("query", counted, "--format", "csv", "--home", home).split()[1] == "true,1"
    assert int(run("query", "select count(*) from claims", "--format", "csv", "--home", home).split()[1]) > 20


def test_what_is_imported_is_in_the_warehouse_with_its_run(home):
    with Warehouse.open(home / "warehouse.duckdb") as warehouse:
        rows = warehouse.sql(
            """
            select episodes.instance_id, episodes.runtime_contract, episodes.step_count, runs.flow, run_ends.status
            from episodes
            inner join runs on episodes.run_id = runs.run_id
            inner join run_ends on episodes.run_id = run_ends.run_id
            order by all
            """
        ).rows()
    assert rows == [("chat-2", "persistent", 2, "import", "finished"), ("one", "stateless", 2, "import", "finished")]


def stages_told(said):
    """Return the stages whose progress was told."""
    return [line.partition(": ")[0] for line in said.splitlines()]


@pytest.mark.slow
def test_an_import_tells_how_far_it_is(tmp_path, chat):
    said = call("import", chat, "--contract", "persistent", "--home", tmp_path / "data").stderr
    assert stages_told(said)[:4] == [f"reading {chat}", "import chat.jsonl", "merge", "marts"]
    assert "import chat.jsonl: 2 of 2 episodes" in said


def test_an_import_says_what_its_episodes_are(tmp_path, chat, monkeypatch):
    home = tmp_path / "data"
    home.mkdir()
    bars = RecordedBars()
    monkeypatch.setattr(imports, "progress_bar", bars.open)
    computed = []
    monkeypatch.setattr(imports, "compute_statistics", lambda *given, **named: computed.append((given, named)) or [])
    chosen = ["--purpose", "teacher", "--bucket", "hard", "--scale", "paper", "--plan", "theirs"]
    assert "--plan theirs" in run("import", chat, "--contract", "persistent", *chosen, "--home", home)
    assert bars.named("import chat.jsonl").done == 2
    assert "merge" in [bar.label for bar in bars.shown]
    ((_, named),) = computed
    assert (named["plan_digest"], named["open_bar"]) == ("theirs", bars.open)
    query = "select distinct purpose, base, bucket, split, scale, plan_digest from episodes"
    assert "teacher,teacher,hard,train,paper,theirs" in run("query", query, "--format", "csv", "--home", home)


@pytest.mark.slow
def test_imported_cells_are_compared_and_kept_with_progress(home):
    for runtime, scores in {"persistent": [1.0, 0.5], "stateless": [0.25, 0.125]}.items():
        records = [{"instance_id": str(task), "score": score, "messages": CHAT} for task, score in enumerate(scores)]
        options = ("--train-contract", "persistent", "--plan", "cells", "--family", "knapsack")
        import_records(home, records, "--contract", runtime, *options)
    table = run("tables", "table_7", "--plan", "cells", "--format", "csv", "--home", home)
    native = next(line for line in table.splitlines() if "native_vs_mismatched,persistent,persistent" in line)
    assert ",2,2,75.0,18.75,56.25," in native

    folder = home.with_name("kept")
    for options in (("--plan", "cells", "--home", home), ("--recompute",)):
        assert stages_told(call("keep", folder, *options).stderr) == ["statistics"]


PERSISTENT = ("--contract", "persistent")


def printed(home, table, plan):
    """Return a table's only row, by column."""
    (row,) = csv.DictReader(run("tables", table, "--plan", plan, "--format", "csv", "--home", home).splitlines())
    return row


@pytest.mark.parametrize(("bucket", "table"), [("easy", "9"), ("hard", "10")])
def test_values_missing_in_a_chat_are_empty_not_zero(tmp_path, bucket, table):
    home = tmp_path / "data"
    options = ("--train-contract", "persistent", "--bucket", bucket, "--scale", "paper", "--plan", "chats")
    import_records(home, [{"messages": CHAT, "score": 0.5}], *PERSISTENT, *options)
    behaviour = printed(home, table, "chats")
    assert behaviour["context_lifespan"] == "2.0"
    unknown = ("interpreter_lifespan", "interpreter_lifespan_difference", "redefinitions_per_step", "state_footprint")
    assert [behaviour[column] for column in unknown] == [""] * len(unknown)
    cost = printed(home, "2", "chats")
    unknown = ("mean_total_tokens", "mean_prompt_tokens", "mean_cached_prompt_tokens", "mean_seconds",
               "score_per_1k_total_tokens", "mean_total_tokens_difference")  # fmt: skip
    assert [cost[column] for column in unknown] == [""] * len(unknown)
    live_names = "select state_utilization from marts.episode_behaviour where reading = 'live_names_only'"
    assert run("query", live_names, "--format", "csv", "--home", home).splitlines()[1:] == [""]


def test_imported_teacher_has_no_uncounted_values(tmp_path):
    home = tmp_path / "data"
    import_records(
        home,
        [{"messages": CHAT, "score": 0.5}],
        *PERSISTENT,
        "--purpose",
        "teacher",
        "--plan",
        "chats",
        "--family",
        "knapsack",
    )
    lines = run("tables", "1", "--plan", "chats", "--format", "csv", "--home", home).splitlines()
    assert {row["metric"] for row in csv.DictReader(lines)} == {
        "avg_steps_per_episode", "avg_teacher_optimality", "avg_tool_calls_per_episode", "episode_count",
        "teacher_success_rate",
    }  # fmt: skip


def test_foreign_traces_stand_beside_nothing_of_the_papers(home):
    printed = " ".join(run("tables", "--plan", "import", "--home", home).split())
    assert "cells: The 2x2" in printed
    assert "foreign→P" in printed
    assert "Qwen3-8B" not in printed
    with pytest.raises(UserError, match=r"table_2 is about the Opaque Knapsack, .*import .*--family knapsack"):
        run("tables", "2", "--plan", "import", "--home", home)


def test_what_nobody_scored_is_neither_solved_nor_unsolved(home):
    episodes = "select count(*) as all_of_them, count(is_solved) as judged from marts.episode_metrics"
    cells = "select sum(episode_count), sum(solved_count) from marts.evaluated_cells"
    sql = f"{episodes} union all {cells}"
    assert run("query", sql, "--format", "csv", "--home", home).split()[1:] == ["2,0", "2,"]


def test_two_models_are_not_mixed_in_one_cell(home, chat):
    other = ["--contract", "persistent", "--model", "second", "--home", home]
    with pytest.raises(UserError, match="plan 'import' has episodes of model 'foreign' in the cells of 'second'"):
        run("import", chat, *other)
    assert run("import", chat, *other, "--plan", "second").startswith("2 episodes imported")
    counts = "select model_name, count(*) from episodes group by all order by all"
    assert run("query", counts, "--format", "csv", "--home", home).split()[1:] == ["foreign,2", "second,2"]


def test_a_plan_of_a_study_takes_no_imports(home, chat):
    zone = LandingZone(home / "landing")
    study = RunRow(
        run_id="study", flow="reproduce_study", plan_name="smoke", plan_digest="abc", scale="smoke", plan_json="{}",
        environment_json="{}", started_at=datetime(2026, 1, 1, tzinfo=UTC),
    )  # fmt: skip
    zone.write({"runs": [study]}, "study")
    merge(zone, home / "warehouse.duckdb")
    with pytest.raises(UserError, match="plan 'abc' belongs to flow reproduce_study; choose another name"):
        run("import", chat, "--contract", "persistent", "--plan", "abc", "--home", home)


@pytest.mark.parametrize(("to", "pattern", "count"), [("authors", "*.trace.json", 2), ("jsonl", "traces.jsonl", 1)])
def test_export_writes_what_is_asked_for(home, tmp_path, to, pattern, count):
    folder = tmp_path / "out"
    assert run("export", folder, "--to", to, "--home", home) == f"2 episodes in {folder}\n"
    assert len(list(folder.rglob(pattern))) == count


def test_export_takes_a_condition(home, tmp_path):
    condition = "runtime_contract = 'stateless'"
    assert run("export", tmp_path / "out", "--where", condition, "--home", home).startswith("1 episodes")
    with pytest.raises(UserError, match="no episode matches"):
        run("export", tmp_path / "out", "--where", "score > 2", "--home", home)


def test_what_cannot_be_read_is_said(tmp_path, chat):
    with pytest.raises(UserError, match=r"no file .*notes.txt"):
        run("lint", tmp_path / "notes.txt")
    (tmp_path / "rows.json").write_text('{"rows": 1}')
    said = call("lint", chat, tmp_path).stderr
    assert "1 unread: unknown layout (first: " in said


@pytest.mark.parametrize(
    ("lines", "contract", "message"),
    [
        ([], "persistent", r"no trace in .*source.jsonl: 1 unread: empty file .*; nothing was imported"),
        ([{"prompt": "x"}], "persistent", r"no trace in .*: 1 unread: unknown layout .*; nothing was imported"),
        ([{"messages": CHAT[:1]}], "persistent", r"no reply of an agent in a chat data set .*; nothing was imported"),
        ([{"messages": [{"role": "assistant", "content": "hi"}]}], "persistent", r"no executed block in 1 episodes of"),
        ([{"messages": CHAT}], "sideways", r"unknown contract 'sideways'; choose from persistent, stateless"),
    ],
)
def test_a_source_that_cannot_be_imported_leaves_nothing(tmp_path, lines, contract, message):
    source, home = tmp_path / "source.jsonl", tmp_path / "data"
    source.write_text("\n".join(map(json.dumps, lines)))
    home.mkdir()
    with pytest.raises(UserError, match=message):
        run("import", source, "--contract", contract, "--home", home)
    assert list(home.iterdir()) == []


def test_files_without_a_trace_have_nothing_to_lint(tmp_path):
    (tmp_path / "rows.json").write_text('{"rows": 1}')
    with pytest.raises(UserError, match="no code found in 0 traces: 1 unread: unknown layout"):
        run("lint", tmp_path)


def exit_code(*arguments):
    return CliRunner().invoke(app, [str(each) for each in arguments]).exit_code


def test_lint_has_an_exit_code_for_continuous_integration(tmp_path, chat):
    assert exit_code("lint", chat, "--against", "stateless") == 2
    assert exit_code("lint", chat, "--against", "persistent") == 0
    assert exit_code("lint", chat, "--runtime", "persistent") == 0
    with pytest.raises(UserError, match="--against and --runtime both name a runtime"):
        run("lint", chat, "--against", "stateless", "--runtime", "persistent")
    assert exit_code("lint", chat) == 0
    alone = tmp_path / "alone.jsonl"
    alone.write_text(json.dumps({"messages": CHAT[:3]}))
    assert exit_code("lint", alone, "--against", "stateless") == 0
    with pytest.raises(UserError, match="unknown runtime 'sideways'"):
        run("lint", chat, "--against", "sideways")


def test_lint_begins_with_its_verdict(chat):
    verdict = "2 of 2 episodes fail in a stateless runtime; first at block 2, name `x` (2 episodes)"
    assert run("lint", chat, "--format", "markdown").startswith(verdict)
    found = json.loads(run("lint", chat, "--format", "json", "--per-trace"))
    assert found["verdict"].startswith(verdict)
    assert [row["carried_names"] for row in found["rows"]] == ["x", "x"]
    assert run("lint", chat, "--format", "html").startswith("<!doctype html>")


def test_lint_saves_rows_and_a_page(tmp_path, chat):
    files = [tmp_path / f"lint.{suffix}" for suffix in ("csv", "jsonl", "parquet", "html")]
    page, former = files[-1], tmp_path / "former"
    page.write_text("whole")
    former.hardlink_to(page)
    run("lint", chat, *flat(("--save", file) for file in files))
    assert former.read_text() == "whole"  # a page is replaced, not written over
    assert all(file.stat().st_size for file in files)
    assert len(files[1].read_text().splitlines()) == 2


def test_a_record_that_is_not_read_is_told_and_the_rest_imported(tmp_path):
    source = tmp_path / "source.jsonl"
    asking = {"role": "assistant", "tool_calls": [{"name": "search", "arguments": {"query": "x"}}]}
    source.write_text("\n".join(map(json.dumps, [{"messages": [*CHAT, asking]}, {"prompt": "x"}])))
    told = call("import", source, "--contract", "persistent", "--home", tmp_path / "data")
    assert told.stdout.startswith(f"1 episodes imported from {source}, 2 executed blocks; ")
    assert "1 unread: unknown layout (first: line 2 of" in told.stderr
    assert "1 calls of tools that run no code: search (1)" in told.stderr


def test_two_files_and_two_imports_are_paired_alike(tmp_path):
    home = tmp_path / "data"
    paths = []
    for plan, scores in (("model-0.6b", (1.0, 0.5, 0.75)), ("second", (0.25, 0.125, 0.5))):
        path = tmp_path / f"{plan}.jsonl"
        records = [{"instance_id": str(task), "score": score, "messages": CHAT} for task, score in enumerate(scores)]
        path.write_text("\n".join(map(json.dumps, records)))
        run("import", path, "--contract", "persistent", "--plan", plan, "--home", home)
        paths.append(path)
    rows = list(csv.DictReader(run("paired", *paths, "--format", "csv").splitlines()))
    assert rows[0]["metric"] == "score"
    assert float(rows[0]["difference"]) == pytest.approx(2.25 / 3 - 0.875 / 3)
    of_plans = run("paired", "model-0.6b", "second", "--home", home, "--format", "csv")
    assert list(csv.DictReader(of_plans.splitlines())) == rows
    assert run("paired", *paths).startswith("3 instances in both; score differs by +0.458 [")


@pytest.mark.parametrize("command", ["tables", "figures", "report"])
def test_plan_without_run_is_named_beside_known_plans(home, command):
    with pytest.raises(UserError, match="no run of plan 'nope'; the latest plans are import"):
        run(command, "--plan", "nope", "--home", home)
