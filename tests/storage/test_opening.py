"""Opening a warehouse: its copies, its readers, and places that are none."""

import io
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import pytest

from carryover.storage.errors import QueryError, WarehouseBusyError, WarehouseError
from carryover.storage.warehouse.connection import open_for_writing
from carryover.storage.warehouse.merger import merge, owned
from carryover.storage.warehouse.migrations import migrate
from carryover.storage.warehouse.reader import Warehouse
from carryover.storage.warehouse.readers_copy import readers_copy_path


def test_reader_keeps_its_copy_while_the_next_sees_the_new(landing, merged, make_episode):
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


def test_readers_copy_alone_is_a_warehouse(merged, tmp_path):
    copy = readers_copy_path(merged).rename(tmp_path / "mine.duckdb")
    with Warehouse.open(copy) as warehouse:
        assert warehouse.sql("select count(*) from steps").rows() == [(2,)]


def test_a_closed_warehouse_answers_nothing(merged):
    opened = Warehouse.open(merged)
    with opened as warehouse:
        assert warehouse is opened
    with pytest.raises(QueryError, match="closed"):
        warehouse.sql("select 1")


def test_a_missing_warehouse_says_how_to_make_one(tmp_path):
    with pytest.raises(WarehouseError, match=r"no warehouse at .*absent.duckdb; `carryover merge` makes one"):
        Warehouse.open(tmp_path / "absent.duckdb")


def test_a_file_that_is_no_warehouse_names_what_is_one(tmp_path):
    (tmp_path / "notes.txt").write_bytes(bytes(range(256)) * 100)
    with pytest.raises(
        WarehouseError, match=r"cannot open .*notes.txt as a warehouse: .*; open a file that `carryover"
    ):
        Warehouse.open(tmp_path / "notes.txt")


@pytest.mark.parametrize(
    "content", [b"study.duckdb", 3, None, io.BytesIO(b"DUCK")], ids=lambda each: type(each).__name__
)
def test_what_is_no_path_is_named(content: Any):
    with pytest.raises(TypeError, match=f"opened by its path or URL, got {type(content).__name__}; pass a str or"):
        Warehouse.open(content)


def test_reader_before_the_first_merge_hears_that_none_finished(landing, tmp_path, make_episode):
    path = tmp_path / "study.duckdb"
    landing.write(make_episode("e"), "run")
    with owned(path), open_for_writing(path) as live:
        migrate(live)
        with pytest.raises(WarehouseError, match=r"no merge into .*study.duckdb has finished yet; wait for the one"):
            Warehouse.open(path)
    merge(landing, path)
    with Warehouse.open(path) as warehouse:
        assert warehouse.sql("select count(*) from marts.episode_metrics").rows() == [(1,)]


def test_merge_names_the_process_that_holds_the_live_file(landing, merged, make_episode):
    landing.write(make_episode("f"), "run")
    with (
        holding(merged) as process,
        pytest.raises(WarehouseBusyError, match=rf"study.duckdb is open in process {process} \(.*python.*\); close it"),
    ):
        merge(landing, merged)
    assert merge(landing, merged).bundle_count == 1


@contextmanager
def holding(path: Path) -> Iterator[int]:
    """Keep a database open in another process while the block runs; yield its process id."""
    script = "import duckdb, sys; kept = duckdb.connect(sys.argv[1]); print('open', flush=True); sys.stdin.read()"
    command = [sys.executable, "-c", script, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "open\n"
        yield process.pid
        process.communicate()


def test_a_file_that_is_no_database_is_named(tmp_path):
    (tmp_path / "text.duckdb").write_bytes(b"text" * 1000)
    with pytest.raises(WarehouseError, match=r"text.duckdb.*not a valid DuckDB database file"):
        Warehouse.open(tmp_path / "text.duckdb")


def test_a_database_of_something_else_is_named(tmp_path):
    with duckdb.connect(tmp_path / "mine.duckdb") as connection:
        connection.execute("create table mine as select 1 as a")
    with pytest.raises(WarehouseError, match=r"mine.duckdb: this is a DuckDB file but not a Carryover warehouse"):
        Warehouse.open(tmp_path / "mine.duckdb")


@pytest.mark.parametrize(
    "place",
    ["file://{folder}/{file}", "file://{folder}/nowhere", "memory://nothing/here", "{folder}", "{folder}/notes"],
)
def test_a_place_without_landing_zone_is_refused(merged, place):
    (merged.parent / "notes").mkdir()
    (merged.parent / "notes" / "of_mine.txt").touch()
    with pytest.raises(WarehouseError, match=r"not a landing zone: .*; open a landing zone, or a warehouse file"):
        Warehouse.open(place.format(folder=merged.parent, file=merged.name))


def test_an_empty_landing_zone_is_an_empty_warehouse(tmp_path):
    with Warehouse.open(tmp_path) as warehouse:
        assert warehouse.sql("select count(*) from episodes").rows() == [(0,)]
        assert warehouse.scan("steps").collect().height == 0


def test_landing_zone_before_its_first_manifest_is_empty_warehouse(tmp_path):
    (tmp_path / "episodes" / "run_id=run").mkdir(parents=True)
    (tmp_path / "quarantine").mkdir()  # a merge has put aside what a killed writer left
    with Warehouse.open(tmp_path) as warehouse:
        assert warehouse.sql("select count(*) from episodes").rows() == [(0,)]
