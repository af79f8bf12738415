import re
import shutil
import threading
from pathlib import Path

import duckdb
import polars as pl
import pyarrow as pa
import pytest

from storage.errors import QueryError, WarehouseBusyError, WarehouseError
from storage.landing import LandingZone
from storage.lock import owned
from storage.merger import merge
from storage.published import published_path
from storage.results import open_results
from storage.warehouse import Warehouse
from tasks.traces.rows import InstanceRow

REPOSITORY = Path(__file__).parents[2]
KEPT_RESULTS = REPOSITORY / "sql" / "results" / "laptop_full"


@pytest.fixture
def path(tmp_path) -> Path:
    return tmp_path / "study.duckdb"


@pytest.fixture
def merged(landing, path, make_episode) -> Path:
    landing.write(make_episode("e", step_count=2, score=0.5, code="total = 0\nprint(total)"), "run")
    merge(landing, path)
    return path


@pytest.mark.parametrize("kind", ["file", "landing zone"])
def test_sql_answers_the_same_over_a_file_and_over_a_landing_zone(landing, merged, make_episode, make_row, kind):
    landing.write(make_episode("e", step_count=5), "run")
    landing.write({**make_episode("f", step_count=1), "instances": [make_row(InstanceRow, instance_id="i")]}, "run")
    landing.write({"instances": [make_row(InstanceRow, instance_id="i")]}, "run")
    merge(landing, merged)
    with Warehouse.open(merged if kind == "file" else landing.url) as warehouse:
        assert warehouse.sql("select episode_id, count(*) from steps group by all order by all").rows() == [
            ("e", 2),
            ("f", 1),
        ]
        assert warehouse.sql("select count(*) from instances").rows() == [(1,)]
        assert warehouse.scan("steps").collect().height == 3
        assert warehouse.sql("select count(*) from quarantine").rows() == [(0,)]


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


def test_the_readme_s_example_reads_a_warehouse(landing, make_episode, tmp_path, monkeypatch):
    examples = re.findall(r"```python\n(.*?)```", (REPOSITORY / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    (example,) = (code for code in examples if "import Warehouse" in code)
    assert len(example.strip().splitlines()) <= 10
    for contract, score in (("persistent", 0.5), ("stateless", 0.25)):
        rows = make_episode(
            contract, score=score, train_contract="persistent", runtime_contract=contract, code="x = 1\n" * 100
        )
        landing.write(rows, "run")
    merge(landing, tmp_path / "data" / "warehouse.duckdb")
    monkeypatch.chdir(tmp_path)
    read: dict[str, pl.DataFrame] = {}
    exec(example, read)
    assert sorted(read["cells"].rows()) == [("persistent", 0.5), ("stateless", 0.25)]
    assert read["long_blocks"].select("episode_id", "step").sort("episode_id", "step").rows() == [
        ("persistent", 1),
        ("persistent", 2),
        ("stateless", 1),
        ("stateless", 2),
    ]


def test_parameters_are_named(merged):
    with Warehouse.open(merged) as warehouse:
        assert warehouse.sql("select step from steps where step > $least", least=1).rows() == [(2,)]


def test_marts_by_other_sql_are_not_current_and_a_merge_renews_them(landing, merged):
    with duckdb.connect(str(merged)) as connection:
        connection.execute("update main.refreshed_marts set sql_digest = 'of another version'")
    with Warehouse.open(merged) as warehouse:
        assert warehouse.has_current_marts()  # readers have the published copy
        warehouse.publish()
        assert not warehouse.has_current_marts()
    merge(landing, merged)
    with Warehouse.open(merged) as warehouse, Warehouse.open(landing.url) as scanned:
        assert (warehouse.has_current_marts(), scanned.has_current_marts()) == (True, True)


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
def test_a_wrong_query_gives_duckdb_s_message_and_near_names(merged, query, message, near):
    with Warehouse.open(merged) as warehouse, pytest.raises(QueryError, match=message) as raised:
        warehouse.sql(query)
    assert raised.value.near_names[0] == near


def test_a_syntax_error_has_no_near_names(merged):
    with Warehouse.open(merged) as warehouse, pytest.raises(QueryError, match="syntax error") as raised:
        warehouse.sql("selec 1")
    assert raised.value.near_names == ()


@pytest.mark.parametrize(
    ("statement", "refusal"),
    [
        ("delete from steps", "a warehouse is read-only: DELETE is no query"),
        ("set threads = 1", "SET is no query"),
        ("pragma version", "PRAGMA is no query"),
        ("explain analyze select 1", "EXPLAIN ANALYZE is no query"),
        ("explain /* é */ -- select\n analyse select 1", "EXPLAIN ANALYZE is no query"),
        ("select 1; explain (format json, analyze) select 1", "EXPLAIN ANALYZE is no query"),
        ('explain ("analyze") select 1', "EXPLAIN ANALYZE is no query"),
        ("with gone as (delete from steps returning *) from gone", "read-only: WITH that writes is no query"),
        ("from 'other.csv'", "a query reads its warehouse alone"),
    ],
)
def test_what_is_more_than_a_query_is_refused_with_the_way_around(merged, statement, refusal):
    with Warehouse.open(merged) as warehouse, pytest.raises(QueryError, match=refusal) as raised:
        warehouse.sql(statement)
    (way,) = re.findall(r"in DuckDB: (attach .*)$", str(raised.value))
    with duckdb.connect() as connection:
        connection.execute(way.replace("warehouse.published.duckdb", str(published_path(merged))))
        assert connection.sql("explain analyze from warehouse.main.steps").fetchall()


@pytest.mark.parametrize("kind", ["file", "landing zone"])
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
def test_a_query_writes_no_file_and_reads_no_other(landing, merged, tmp_path, kind, statement):
    victim = tmp_path / "victim.txt"
    victim.write_text("precious")
    landed = next(Path(landing.url).rglob("steps/**/*.parquet"))
    files = (victim, landed, merged, published_path(merged))
    before = [file.read_bytes() for file in files]
    named = statement.format(victim=victim, landed=landed, live=merged, copy=published_path(merged))
    with Warehouse.open(merged if kind == "file" else landing.url) as warehouse:
        with pytest.raises(QueryError):
            warehouse.sql(named)
        assert warehouse.sql("select count(*) from steps").rows() == [(2,)]
    assert [file.read_bytes() for file in files] == before


@pytest.mark.parametrize("kind", ["file", "landing zone"])
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
def test_every_form_of_a_query_runs(landing, merged, kind, query, row_count):
    with Warehouse.open(merged if kind == "file" else landing.url) as warehouse:
        assert len(warehouse.sql(query)) == row_count


def test_kept_results_lose_no_row_to_a_query():
    with open_results(KEPT_RESULTS) as warehouse:
        before = warehouse.sql("select count(*) from statistics").rows()
        with pytest.raises(QueryError, match=r"read-only: WITH that writes is no query; .*in DuckDB: attach"):
            warehouse.sql("with gone as (delete from statistics returning *) from gone")
        assert warehouse.sql("select count(*) from statistics").rows() == before != [(0,)]


def test_a_python_variable_is_not_a_table(merged):
    frame = pl.DataFrame({"a": [1]})
    with Warehouse.open(merged) as warehouse, pytest.raises(QueryError, match="frame does not exist"):
        warehouse.sql("select * from frame")
    assert frame.height == 1


def test_a_reader_keeps_its_copy_while_the_next_one_sees_the_new(landing, merged, make_episode):
    with Warehouse.open(merged) as old:
        landing.write(make_episode("f"), "run")
        merge(landing, merged)
        with Warehouse.open(merged) as new:
            assert old.sql("select count(*) from episodes").rows() == [(1,)]
            assert new.sql("select count(*) from episodes").rows() == [(2,)]


def test_a_reader_does_not_wait_for_the_merger(merged):
    writer = duckdb.connect(merged)
    writer.begin()
    writer.execute("delete from episodes")
    with owned(merged), Warehouse.open(merged) as warehouse:
        assert warehouse.sql("select count(*) from episodes").rows() == [(1,)]
    writer.close()


def test_publishing_waits_for_nobody_and_names_the_merger(merged):
    with Warehouse.open(merged) as warehouse:
        assert warehouse.publish() == published_path(merged)
        assert warehouse.sql("select count(*) from episodes").rows() == [(1,)]
        with owned(merged), pytest.raises(WarehouseBusyError, match="is being written by process"):
            warehouse.publish()


def test_threads_share_a_warehouse(merged):
    counts = []
    with Warehouse.open(merged) as warehouse:

        def count() -> None:
            counts.append(warehouse.sql("select count(*) from steps").rows())

        threads = [threading.Thread(target=count) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert counts == [[(2,)]] * 8


def test_a_published_copy_alone_is_a_warehouse(merged, tmp_path):
    copy = published_path(merged).rename(tmp_path / "mine.duckdb")
    with Warehouse.open(copy) as warehouse:
        assert warehouse.sql("select count(*) from steps").rows() == [(2,)]


def test_a_missing_warehouse_says_how_to_make_one(tmp_path):
    with pytest.raises(WarehouseError, match=r"no warehouse at .*absent.duckdb; `carryover merge` makes one"):
        Warehouse.open(tmp_path / "absent.duckdb")


def test_a_file_that_is_no_database_is_named(tmp_path):
    (tmp_path / "text.duckdb").write_bytes(b"text" * 1000)
    with pytest.raises(WarehouseError, match=r"text.duckdb.*not a valid DuckDB database file"):
        Warehouse.open(tmp_path / "text.duckdb")


def test_a_database_of_something_else_is_named(tmp_path):
    with duckdb.connect(tmp_path / "mine.duckdb") as connection:
        connection.execute("create table mine as select 1 as a")
    with pytest.raises(WarehouseError, match=r"mine.duckdb: this is a DuckDB file but not a Carryover warehouse"):
        Warehouse.open(tmp_path / "mine.duckdb")


@pytest.mark.parametrize("scan", [Warehouse.scan, Warehouse.scan_copy])
def test_one_query_may_read_a_scan_several_times(merged, scan):
    with Warehouse.open(merged) as warehouse:
        steps = scan(warehouse, "steps")
        later = steps.filter(pl.col("step") > 1).select("episode_id", later=pl.col("step"))
        joined = steps.select("episode_id", "step").join(later, on="episode_id").sort("step")
        assert joined.collect().rows() == [("e", 1, 2), ("e", 2, 2)]
        assert pl.collect_all([steps.select(pl.len()), steps.head(1).select("step")])[0].item() == 2
        assert steps.filter(pl.col("step") > 1).head(1).collect().height == 1


def test_a_scan_of_a_file_reads_the_landed_parquet_of_what_it_holds(landing, merged, make_episode):
    with Warehouse.open(merged) as warehouse:
        landing.write(make_episode("later", step_count=4), "run")
        steps = warehouse.scan("steps")
        assert "Parquet SCAN" in steps.explain()
        assert steps.select("episode_id", "step").sort("step").collect().rows() == [("e", 1), ("e", 2)]
        assert steps.collect().equals(warehouse.sql("select * from steps").polars())


def _lose(landing: LandingZone) -> None:
    shutil.rmtree(landing.store.root)


def _tear(landing: LandingZone) -> None:
    (steps,) = (file.path for file in landing.store.find("steps"))
    Path(landing.store.absolute(steps)).write_bytes(b"torn")


def _remove(landing: LandingZone) -> None:
    (steps,) = (file.path for file in landing.store.find("steps"))
    landing.store.remove(steps)


def _garble(landing: LandingZone) -> None:
    (steps,) = (file.path for file in landing.store.find("steps"))
    path = Path(landing.store.absolute(steps))
    # magic words and size are right, all between them is not
    path.write_bytes(b"PAR1" + bytes(path.stat().st_size - 8) + b"PAR1")


@pytest.mark.parametrize(
    ("damage", "reason"),
    [(_tear, "torn, 4 bytes instead of "), (_remove, "file missing"), (_garble, "not readable as Parquet")],
)
def test_a_landing_zone_with_a_damaged_bundle_names_the_file_and_the_way_out(
    landing, make_episode, path, damage, reason
):
    landing.write(make_episode("e", step_count=2), "run")
    damage(landing)
    told = f"{landing.url} cannot be read: steps/run_id=run/.*parquet: {reason}.*; `carryover merge` puts it aside$"
    with pytest.raises(WarehouseError, match=told):
        Warehouse.open(landing.url)
    merge(landing, path)
    with Warehouse.open(landing.url) as warehouse:
        assert warehouse.sql("select count(*) from steps").rows() == [(0,)]


@pytest.mark.parametrize(
    ("damage", "word"), [(_lose, "1 of its 1 bundles are not in "), (_tear, "torn, 4 bytes instead of ")]
)
def test_a_scan_of_a_file_reads_its_copy_and_says_why_where_what_landed_is_out_of_reach(landing, merged, damage, word):
    damage(landing)
    with Warehouse.open(merged) as warehouse:
        with pytest.warns(UserWarning, match=f"scan reads the published copy of .*: .*{word}"):
            steps = warehouse.scan("steps")
        assert steps.select("episode_id", "step").sort("step").collect().rows() == [("e", 1), ("e", 2)]


def test_a_scan_of_a_file_that_was_merged_by_a_relative_path_works_from_every_folder(
    landing, make_episode, tmp_path, monkeypatch, recwarn
):
    monkeypatch.chdir(Path(landing.store.root).parent)
    landing.write(make_episode("e", step_count=2), "run")
    merge(LandingZone(Path(landing.store.root).name), tmp_path / "w.duckdb")
    landing.write(make_episode("f", step_count=1), "run")
    merge(landing, tmp_path / "w.duckdb")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    with Warehouse.open(tmp_path / "w.duckdb") as warehouse:
        assert warehouse.scan("steps").collect().height == 3
    assert recwarn.list == []


def test_a_scan_of_a_file_reads_the_zone_that_an_older_version_noted_by_a_relative_path(
    landing, merged, make_episode, monkeypatch, recwarn
):
    monkeypatch.chdir(Path(landing.store.root).parent)
    with duckdb.connect(merged) as connection:
        connection.execute(
            "update main.merged_bundles set landing_url = $name", {"name": Path(landing.store.root).name}
        )
    landing.write(make_episode("f", step_count=1), "run")
    merge(landing, merged)
    with Warehouse.open(merged) as warehouse:
        assert warehouse.scan("steps").collect().height == 3
    assert recwarn.list == []


def test_a_scan_of_a_file_of_two_landing_zones_reads_its_copy(merged, make_episode, tmp_path):
    other = LandingZone(tmp_path / "other")
    other.write(make_episode("f", step_count=1), "run")
    merge(other, merged)
    with Warehouse.open(merged) as warehouse:
        with pytest.warns(UserWarning, match="merged from 2 landing zones, .*other"):
            steps = warehouse.scan("steps")
        assert sorted(steps.collect()["episode_id"]) == ["e", "e", "f"]


@pytest.mark.parametrize("scan", [Warehouse.scan, Warehouse.scan_copy])
def test_an_unknown_table_cannot_be_scanned(merged, scan):
    with Warehouse.open(merged) as warehouse, pytest.raises(ValueError, match="unknown table 'stepz'"):
        scan(warehouse, "stepz")


@pytest.mark.parametrize(
    ("place", "told"),
    [
        ("file://{folder}/{file}", "is a file and no landing zone; a warehouse file is opened by its path"),
        ("file://{folder}/nowhere", "there is no such place"),
        ("memory://nothing/here", "there is no such place"),
        ("{folder}", "is no landing zone: there is no bundles/ in it; open its {file}"),
        ("{folder}/notes", "is no landing zone: there is no bundles/ in it; open a landing zone or a warehouse file"),
    ],
)
def test_a_place_that_is_no_landing_zone_is_no_empty_warehouse(merged, place, told):
    (merged.parent / "notes").mkdir()
    (merged.parent / "notes" / "of_mine.txt").touch()
    names = {"folder": merged.parent, "file": merged.name}
    with pytest.raises(WarehouseError, match=re.escape(told.format(**names)) + "$"):
        Warehouse.open(place.format(**names))


def test_an_empty_landing_zone_is_an_empty_warehouse(tmp_path):
    with Warehouse.open(tmp_path) as warehouse:
        assert warehouse.sql("select count(*) from episodes").rows() == [(0,)]
        assert warehouse.scan("steps").collect().height == 0


def test_times_come_back_in_utc(merged):
    with Warehouse.open(merged) as warehouse:
        assert warehouse.sql("select started_at::varchar from episodes").rows() == [("2026-01-01 00:00:00+00",)]
