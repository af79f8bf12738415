"""SQL over a warehouse: what it answers, what it refuses, and how results look."""

import re
import shutil
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import duckdb
import polars as pl
import pyarrow as pa
import pytest

from carryover.storage.errors import QueryError, WarehouseError
from carryover.storage.warehouse.merger import merge
from carryover.storage.warehouse.reader import Warehouse
from carryover.storage.warehouse.readers_copy import copy_for_readers, readers_copy_path
from carryover.tasks.stages.results import open_results
from carryover.tasks.traces.rows import InstanceRow
from carryover.tasks.traces.study_rows import RunEndRow, RunRow

REPOSITORY = Path(__file__).parents[3]
KEPT_RESULTS = REPOSITORY / "sql" / "results" / "laptop_full"


class OpenedStudy(NamedTuple):
    folder: Path
    """With `landing` and `study.duckdb`, both of the same episode."""
    warehouse: Warehouse


@pytest.fixture(scope="module", params=["study.duckdb", "landing"])
def study(request, merged_study, tmp_path_factory) -> Iterator[OpenedStudy]:
    """A merged study, opened by its file and by its landing zone."""
    folder = tmp_path_factory.mktemp("opened") / "study"
    shutil.copytree(merged_study, folder)
    with Warehouse.open(folder / request.param) as warehouse:
        yield OpenedStudy(folder, warehouse)


@pytest.mark.parametrize("kind", ["file", "landing zone"])
def test_sql_answers_alike_over_file_and_landing_zone(landing, merged, make_episode, make_row, kind):
    landing.write(make_episode("e", step_count=5), "run")
    landing.write({**make_episode("f", step_count=1), "instances": [make_row(InstanceRow, instance_id="i")]}, "run")
    landing.write({"instances": [make_row(InstanceRow, instance_id="i")]}, "run")
    landing.write(make_episode("e", "second", plan_digest="second"), "second")
    merge(landing, merged)
    with Warehouse.open(merged if kind == "file" else landing.url) as warehouse:
        assert warehouse.sql("select episode_id, count(*) from steps group by all order by all").rows() == [
            ("e", 2),
            ("f", 1),
        ]
        assert warehouse.sql("select count(*) from instances").rows() == [(1,)]
        assert warehouse.scan("steps").collect().height == 3
        assert warehouse.sql("select count(*) from quarantine").rows() == [(0,)]
        reused = warehouse.sql("select run_id, plan_digest, episode_id from reused_episodes").rows()
        assert reused == [("second", "second", "e")]
        scanned = warehouse.scan("reused_episodes").collect()
        assert scanned.equals(warehouse.sql("from reused_episodes").polars())


def test_storage_options_are_those_of_the_landing_zone(tmp_path):
    """A zip is opened by its option alone; this one holds no landing zone."""
    with zipfile.ZipFile(tmp_path / "zone.zip", "w") as archive:
        archive.writestr("other/file", "")
    with pytest.raises(WarehouseError, match="not a landing zone: zip:"):
        Warehouse.open("zip://", {"fo": str(tmp_path / "zone.zip")})


def test_a_landing_zone_is_opened_without_computing_a_mart(landing, make_episode):
    landing.write(make_episode("e"), "run")
    with Warehouse.open(landing.url) as warehouse:
        kinds = warehouse.sql("select distinct table_type from information_schema.tables where table_schema = 'marts'")
        assert kinds.rows() == [("VIEW",)]


def test_a_result_is_arrow_and_polars_over_the_same_memory(merged):
    with Warehouse.open(merged) as warehouse:
        result = warehouse.sql("select episode_id, step, code from steps order by step")
    assert result.columns == ["episode_id", "step", "code"]
    assert len(result) == 2
    assert result.arrow()["step"].to_pylist() == [1, 2]
    assert result.polars().to_dicts() == result.arrow().to_pylist()
    step = result.arrow().column("step").chunk(0)
    assert result.polars()["step"].to_arrow().buffers()[1].address == step.buffers()[1].address
    # Polars looks at text through views of its own, and leaves the text where it is.
    text = result.polars()["code"].to_arrow(compat_level=pl.CompatLevel.newest())
    assert text.buffers()[2].address == result.arrow().column("code").chunk(0).buffers()[2].address


def test_the_readme_s_example_reads_a_warehouse(landing, make_episode, make_row, tmp_path, monkeypatch):
    examples = re.findall(r"```python\n(.*?)```", (REPOSITORY / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    (example,) = (code for code in examples if "carryover.Warehouse" in code)
    assert len(example.strip().splitlines()) <= 10
    studied = {"purpose": "evaluation", "bucket": "small", "train_contract": "persistent", "code": "x = 1\n" * 100}
    for contract, score in (("persistent", 0.5), ("stateless", 0.25)):
        landing.write(make_episode(contract, score=score, runtime_contract=contract, **studied), "run")
    finished = make_row(RunEndRow, run_id="run", status="finished")
    study = make_row(RunRow, run_id="run", flow="reproduce_study", plan_digest="plan")
    landing.write({"runs": [study], "run_ends": [finished]}, "run")
    merge(landing, tmp_path / "data" / "warehouse.duckdb")
    with Warehouse.open(tmp_path / "data" / "warehouse.duckdb") as warehouse:
        assert warehouse.latest_plan() == "plan"
    monkeypatch.chdir(tmp_path)
    read: dict[str, pl.DataFrame] = {}
    exec(example, read)
    assert sorted(read["cells"].select("condition", "score").rows()) == [("P->P", 0.5), ("P->S", 0.25)]
    assert read["long_blocks"].select("episode_id", "step").sort("episode_id", "step").rows() == [
        ("persistent", 1),
        ("persistent", 2),
        ("stateless", 1),
        ("stateless", 2),
    ]


def test_a_warehouse_without_a_study_has_no_latest_plan(merged):
    with Warehouse.open(merged) as warehouse:
        assert warehouse.latest_plan() is None


def test_parameters_are_named(merged):
    with Warehouse.open(merged) as warehouse:
        assert warehouse.sql("select step from steps where step > $least", least=1).rows() == [(2,)]


def test_merge_renews_marts_made_by_other_sql(landing, merged):
    with duckdb.connect(str(merged)) as connection:
        connection.execute("update main.refreshed_marts set sql_digest = 'of another version'")
    with Warehouse.open(merged) as warehouse:
        assert warehouse.has_current_marts()  # readers have the former copy
    copy_for_readers(merged)
    with Warehouse.open(merged) as warehouse:
        assert not warehouse.has_current_marts()
    merge(landing, merged)
    with Warehouse.open(merged) as warehouse, Warehouse.open(landing.url) as scanned:
        assert (warehouse.has_current_marts(), scanned.has_current_marts()) == (True, True)


def test_readers_copy_is_durable_before_it_replaces_the_former(merged, disk_calls):
    copy_for_readers(merged)
    assert disk_calls == [("fsync", "temporary"), ("replace", readers_copy_path(merged).name)]


def test_a_query_without_rows_keeps_its_columns(merged):
    with Warehouse.open(merged) as warehouse:
        nothing = warehouse.sql("select step from steps where step > 9")
    assert (nothing.rows(), nothing.columns, nothing.arrow().schema) == (
        [],
        ["step"],
        pa.schema([("step", pa.int64())]),
    )


@pytest.mark.parametrize(
    ("query", "message", "near"),
    [
        ("select * from stpes", "Table with name stpes does not exist", "steps"),
        ("select cod from steps", 'Referenced column "cod" not found', "code"),
        ("select steps.cod from steps", 'does not have a column named "cod"', "code"),
        ("select * from marts.episode_metric", "episode_metric", "episode_metrics"),
    ],
)
def test_wrong_query_gives_duckdb_message_with_near_names(merged, query, message, near):
    with Warehouse.open(merged) as warehouse, pytest.raises(QueryError, match=message) as raised:
        warehouse.sql(query)
    assert f'"{near}"' in str(raised.value)


@pytest.mark.parametrize(
    ("statement", "refusal"),
    [
        ("delete from steps", "unsupported statement: DELETE; the warehouse is read-only"),
        ("set threads = 1", "unsupported statement: SET;"),
        ("pragma version", "unsupported statement: PRAGMA;"),
        ("explain analyze select 1", "unsupported statement: EXPLAIN ANALYZE;"),
        ("explain /* é */ -- select\n analyse select 1", "unsupported statement: EXPLAIN ANALYZE;"),
        ("explain (format json, analyze) select 1", "unsupported statement: EXPLAIN ANALYZE;"),
        ('explain ("analyze") select 1', "unsupported statement: EXPLAIN ANALYZE;"),
        ("with gone as (delete from steps returning *) from gone", "WITH that writes; the warehouse is read-only"),
        ("from 'other.csv'", "a query reads its warehouse alone"),
    ],
)
def test_other_statements_than_queries_are_refused_with_the_way_out(merged, statement, refusal):
    with Warehouse.open(merged) as warehouse, pytest.raises(QueryError, match=refusal) as raised:
        warehouse.sql(statement)
    (way,) = re.findall(r"in DuckDB: (attach .*)$", str(raised.value))
    with duckdb.connect() as connection:
        connection.execute(way.replace("warehouse.readers.duckdb", str(readers_copy_path(merged))))
        assert connection.sql("explain analyze from warehouse.main.steps").fetchall()


@pytest.mark.parametrize(
    "statement",
    [
        "attach '{live}' as live; delete from live.main.merged_bundles",
        "copy (select 1) to '{victim}'",
        "explain analyze copy (select 1) to '{victim}'",
        "copy (select 1) to '{landed}' (use_tmp_file false)",
        "explain analyze copy (select 1) to '{landed}' (use_tmp_file false)",
        "use memory; detach warehouse; attach '{copy}' as warehouse; delete from warehouse.main.merged_bundles",
        "from read_text('{victim}')",
        "from glob('{victim}*')",
        "set enable_external_access = true",
    ],
)
def test_a_query_writes_no_file_and_reads_no_other(study, tmp_path, statement):
    victim = tmp_path / "victim.txt"
    victim.write_text("precious")
    landed = next((study.folder / "landing").rglob("steps/**/*.parquet"))
    live = study.folder / "study.duckdb"
    files = (victim, landed, live, readers_copy_path(live))
    before = [file.read_bytes() for file in files]
    named = statement.format(victim=victim, landed=landed, live=live, copy=readers_copy_path(live))
    with pytest.raises(QueryError):
        study.warehouse.sql(named)
    assert study.warehouse.sql("select count(*) from steps").rows() == [(2,)]
    assert [file.read_bytes() for file in files] == before


@pytest.mark.parametrize(
    ("query", "row_count"),
    [
        ("from steps", 2),
        ("describe steps", 21),
        ("pivot (select step from steps) on step using count(*)", 1),
        ("explain from steps", 1),
        ("explain select 'analyze'", 1),
        ("explain (format json) select 'é', code as \"analyze\" from steps -- to analyze", 1),
        ("with first as (from steps where step = 1) from first", 1),
    ],
)
def test_every_form_of_a_query_runs(study, query, row_count):
    assert len(study.warehouse.sql(query)) == row_count


def test_kept_results_lose_no_row_to_a_query():
    with open_results(KEPT_RESULTS) as warehouse:
        before = warehouse.sql("select count(*) from statistics").rows()
        with pytest.raises(QueryError, match=r"WITH that writes; the warehouse is read-only; .*in DuckDB: attach"):
            warehouse.sql("with gone as (delete from statistics returning *) from gone")
        assert warehouse.sql("select count(*) from statistics").rows() == before != [(0,)]


def test_a_python_variable_is_not_a_table(merged):
    frame = pl.DataFrame({"a": [1]})
    with Warehouse.open(merged) as warehouse, pytest.raises(QueryError, match="frame does not exist"):
        warehouse.sql("select * from frame")
    assert frame.height == 1


def test_times_come_back_in_utc(merged):
    with Warehouse.open(merged) as warehouse:
        assert warehouse.sql("select started_at::varchar from episodes").rows() == [("2026-01-01 00:00:00+00",)]
