"""Scans of a table for Polars: of a landing zone from its files, of a warehouse file from its copy."""

import shutil
from pathlib import Path

import polars as pl
import pytest

from carryover.storage.errors import QueryError, WarehouseError
from carryover.storage.warehouse.merger import merge
from carryover.storage.warehouse.reader import Warehouse
from carryover.storage.zone.landing import LandingZone
from carryover.tasks.traces.study_rows import ReusedEpisodeRow


def test_one_query_may_read_a_scan_several_times(merged):
    with Warehouse.open(merged) as warehouse:
        steps = warehouse.scan("steps")
        later = steps.filter(pl.col("step") > 1).select("episode_id", later=pl.col("step"))
        joined = steps.select("episode_id", "step").join(later, on="episode_id").sort("step")
        assert joined.collect().rows() == [("e", 1, 2), ("e", 2, 2)]
        assert pl.collect_all([steps.select(pl.len()), steps.head(1).select("step")])[0].item() == 2
        assert steps.filter(pl.col("step") > 1).head(1).collect().height == 1


def test_a_scan_of_a_file_reads_what_sql_reads(landing, merged, make_episode):
    with Warehouse.open(merged) as warehouse:
        landing.write(make_episode("later", step_count=4), "run")
        steps = warehouse.scan("steps")
        assert steps.select("episode_id", "step").sort("step").collect().rows() == [("e", 1), ("e", 2)]
        assert steps.collect().equals(warehouse.sql("select * from steps").polars())


def test_brackets_in_a_path_are_no_wildcards(tmp_path, path, make_episode):
    landing = LandingZone(tmp_path / "zone[1]")
    landing.write(make_episode("e", step_count=2), "run")
    shutil.copytree(landing.url, tmp_path / "zone1")
    for file in (tmp_path / "zone1").rglob("*.parquet"):
        file.write_bytes(b"of another zone")
    assert landing.read("steps", ["step"]).to_pylist() == [{"step": 1}, {"step": 2}]
    with Warehouse.open(landing.url) as warehouse:
        assert warehouse.sql("select step from steps order by step").rows() == [(1,), (2,)]
    assert merge(landing, path).row_counts["steps"] == 2


def test_reuse_of_a_zone_is_scanned_as_sql_reads_it(landing, make_episode, make_row):
    landing.write(make_episode("e"), "run")
    landing.write(make_episode("e", "again"), "again")
    with Warehouse.open(landing.url) as warehouse:
        assert warehouse.scan("reused_episodes").collect().is_empty()
    landing.write(make_episode("e", "other", plan_digest="other"), "other")
    noted = make_row(ReusedEpisodeRow, plan_digest="third", episode_id="e")
    landing.write({"reused_episodes": [noted, noted.model_copy(update={"plan_digest": "other"})]}, "run")
    with Warehouse.open(landing.url) as warehouse:
        scanned = warehouse.scan("reused_episodes").collect().sort("plan_digest")
        assert scanned.rows() == [("other", "other", "e"), ("run", "third", "e")]
        assert scanned.equals(warehouse.sql("from reused_episodes order by plan_digest").polars())


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
def test_damaged_bundle_is_named_with_the_way_out(landing, make_episode, path, damage, reason):
    landing.write(make_episode("e", step_count=2), "run")
    damage(landing)
    told = f"{landing.url} cannot be read: steps/run_id=run/.*parquet: {reason}.*; `carryover merge` puts it aside$"
    with pytest.raises(WarehouseError, match=told):
        Warehouse.open(landing.url)
    merge(landing, path)
    with Warehouse.open(landing.url) as warehouse:
        assert warehouse.sql("select count(*) from steps").rows() == [(0,)]


def test_bundle_torn_in_an_open_zone_is_named(landing, make_episode):
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


def test_scan_of_a_warehouse_of_two_landing_zones_reads_both(merged, make_episode, tmp_path):
    other = LandingZone(tmp_path / "other")
    other.write(make_episode("f", step_count=1), "run")
    merge(other, merged)
    with Warehouse.open(merged) as warehouse:
        assert sorted(warehouse.scan("steps").collect()["episode_id"]) == ["e", "e", "f"]


def test_an_unknown_table_cannot_be_scanned(merged):
    with Warehouse.open(merged) as warehouse, pytest.raises(ValueError, match="unknown table 'stepz'"):
        warehouse.scan("stepz")
