"""What a kill, a full disk or a place out of reach leaves of a merge."""

import os
from datetime import timedelta
from pathlib import Path

import duckdb
import pytest

from carryover.storage.errors import LandingError, UnreachableZoneError, WarehouseError
from carryover.storage.warehouse import merger
from carryover.storage.warehouse.merger import merge
from carryover.storage.warehouse.reader import Warehouse
from carryover.storage.warehouse.readers_copy import readers_copy_path
from carryover.storage.zone.landing import LandingZone
from tests.storage.warehouse.asking import rows_of

NO_GRACE = timedelta(0)


def test_merge_after_a_kill_makes_the_missing_copy(landing, path, make_episode):
    landing.write(make_episode("e"), "run")
    merge(landing, path)
    readers_copy_path(path).unlink()
    merge(landing, path)
    assert rows_of(path, "select count(*) from episodes") == [(1,)]


def test_next_merge_moves_a_refused_file_left_by_a_kill(landing, path, make_episode):
    landing.write(make_episode("e"), "run")
    for _ in range(2):
        landing.store.write("notes.txt", b"foreign")
        merge(landing, path)
        assert not landing.store.has("notes.txt")
    assert rows_of(path, "select path, reason from quarantine") == [
        ("notes.txt", "foreign: not a file that a landing zone writes")
    ]


def test_next_merge_makes_a_warehouse_left_unmade_by_a_kill(landing, tmp_path, make_episode):
    path = tmp_path / "study.duckdb"
    landing.write(make_episode("e"), "run")
    path.with_name(".study.duckdb.new").write_bytes(b"half")
    merge(landing, path)
    assert rows_of(path, "select episode_id from episodes") == [("e",)]
    assert sorted(file.name for file in path.parent.glob("*study*")) == [
        "study.duckdb",
        "study.duckdb.lock",
        "study.readers.duckdb",
    ]


def test_a_file_that_is_no_warehouse_is_left_alone(landing, tmp_path, make_episode):
    path = tmp_path / "study.duckdb"
    landing.write(make_episode("e"), "run")
    with duckdb.connect(path) as connection:
        connection.execute("create table mine as select 1 as a")
    with pytest.raises(WarehouseError, match="not a Carryover warehouse"):
        merge(landing, path)
    path.write_bytes(b"text" * 1000)
    with pytest.raises(WarehouseError, match=r"study.duckdb.*not a valid DuckDB database file"):
        merge(landing, path)


@pytest.mark.parametrize("allowed_bytes", [10_000, 1_000_000], ids=["log", "file"])
def test_a_full_disk_is_an_error_that_loses_nothing(landing, path, make_episode, allowed_bytes, limit_file_size):
    """The rows fit into neither the write-ahead log nor the file, or into the log only."""
    landing.write(make_episode("e"), "run")
    merge(landing, path)
    landing.write(make_episode("f", code=os.urandom(500_000).hex()), "run")
    grown = path.stat().st_size + 100_000 if allowed_bytes == 1_000_000 else allowed_bytes
    with limit_file_size(grown), pytest.raises(WarehouseError, match=r"cannot write .*study.duckdb: .*File too large"):
        merge(landing, path)
    assert rows_of(path, "select episode_id from episodes") == [("e",)]
    merge(landing, path)
    assert rows_of(path, "select episode_id, count(*) from steps group by all order by all") == [("e", 2), ("f", 2)]


@pytest.mark.parametrize(
    ("error", "kind"),
    [(ConnectionError("reset by peer"), UnreachableZoneError), (PermissionError("denied"), LandingError)],
)
def test_a_failed_read_of_object_storage_is_the_zone_s(path, make_episode, monkeypatch, error, kind):
    landing = LandingZone(f"memory://unread-{kind.__name__}")
    landing.write(make_episode("e"), "run")
    reader = Warehouse.open(landing.url)

    def fail(*_, **__):
        raise error

    told = rf"^cannot read from {landing.url}: {type(error).__name__}: {error}; see that it can be reached"
    with monkeypatch.context() as patched:
        patched.setattr(type(landing.store.filesystem), "_open", fail)
        for read in (
            lambda: merge(landing, path),
            lambda: reader.sql("from steps"),
            lambda: Warehouse.open(landing.url),
        ):
            with pytest.raises(LandingError, match=told) as failed:
                read()
            assert type(failed.value) is kind
    assert merge(landing, path).row_counts["steps"] == 2


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (duckdb.OutOfMemoryException("failed to allocate"), r"cannot merge into .*: failed to allocate; free space"),
        (duckdb.ConversionException("no number"), r"cannot merge .* into .*: no number; `carryover doctor --verify`"),
        (duckdb.IOException("No space left"), r"cannot write .*study.duckdb: No space left; free space there"),
    ],
)
def test_a_merge_tells_what_failed_in_it(landing, path, monkeypatch, error, told):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr(merger, "refresh_marts", fail)
    with pytest.raises(WarehouseError, match=told):
        merge(landing, path)


@pytest.mark.parametrize("zone", ["memory://", "memory://{folder}", "{folder}/study"])
def test_a_full_disk_is_no_damage_to_landed_files(tmp_path, monkeypatch, zone):
    """The warehouse's path holds the landing zone's, or the name of its bucket."""
    zone_url = zone.format(folder=tmp_path)
    path = tmp_path / "study.duckdb"
    said = f'Could not write file "{path}": No space left on device'

    def fail(*_, **__):
        raise duckdb.IOException(said)

    monkeypatch.setattr(merger, "_create_if_absent", lambda _path: None)
    monkeypatch.setattr(merger, "open_for_writing", fail)
    with pytest.raises(WarehouseError, match=r"^cannot write .*study.duckdb: .*No space left on device; free space"):
        merge(zone_url, path)


def test_a_place_that_cannot_be_written_is_named(landing, tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(WarehouseError, match=r"cannot write .*file/study.duckdb.lock"):
        merge(landing, tmp_path / "file" / "study.duckdb")


def test_a_warehouse_inside_its_landing_zone_is_refused(landing, make_episode):
    landing.write(make_episode("e"), "run")
    with pytest.raises(
        WarehouseError, match=r"study.duckdb lies inside the landing zone .*; put the warehouse beside it"
    ):
        merge(landing, Path(landing.url) / "study.duckdb")
    assert not (Path(landing.url) / "study.duckdb.lock").exists()


@pytest.mark.parametrize("name", ["published", "staging", "marts", "increment"])
def test_a_warehouse_named_like_a_schema_is_refused(landing, tmp_path, name):
    with pytest.raises(WarehouseError, match=rf"{name}.duckdb has the name of a schema; choose another one"):
        merge(landing, tmp_path / f"{name}.duckdb")
