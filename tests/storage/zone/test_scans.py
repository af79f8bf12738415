"""Scans of a table for Polars: from the landed files where they are within reach, else from the copy."""

import shutil
from pathlib import Path

import duckdb
import polars as pl
import pytest

from carryover.storage.errors import QueryError, WarehouseError
from carryover.storage.warehouse.merger import merge
from carryover.storage.warehouse.reader import Warehouse
from carryover.storage.zone.landing import LandingZone


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
    [(_tear, "torn, 4 bytes instead of "), (_remove, "file missing"), (_garble, "damaged, checksum ")],
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


def test_a_bundle_torn_while_its_zone_is_open_is_named_with_the_way_out(landing, make_episode):
    landing.write(make_episode("e", step_count=2), "run")
    with Warehouse.open(landing.url) as warehouse:
        assert warehouse.sql("select count(*) from steps where code <> ''").rows() == [(2,)]
        _tear(landing)
        with pytest.raises(
            WarehouseError, match=r"steps/.*torn, 4 bytes instead of .*; `carryover merge` puts it aside$"
        ):
            warehouse.sql("select code from steps")
        with pytest.raises(QueryError, match="stpes"):
            warehouse.sql("select * from stpes")


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
