"""Warehouses and bundles of an older version go on opening, whatever columns came since.

`kept/first_schema.tar.xz` holds a warehouse and its landing zone, with a bundle of every table, as the first schema
wrote them. It is never made anew.
"""

import io
import shutil
import tarfile
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq
import pytest

from carryover.storage.warehouse.merger import merge
from carryover.storage.warehouse.reader import Warehouse
from carryover.storage.zone.bundles import Manifest, checksum
from carryover.storage.zone.landing import LandingZone
from carryover.storage.zone.schemas import arrow_schema, duckdb_columns
from carryover.tasks.traces.tables import TABLES

KEPT = Path(__file__).parent / "kept" / "first_schema.tar.xz"


@pytest.fixture(scope="module")
def kept(tmp_path_factory) -> Path:
    """A folder with the kept warehouse and its landing zone."""
    folder = tmp_path_factory.mktemp("kept")
    with tarfile.open(KEPT) as archive:
        archive.extractall(folder, filter="data")
    return folder


@pytest.fixture
def older(kept, empty_study, tmp_path) -> Path:
    """A copy of the folder, and a warehouse `new.duckdb` that has merged nothing."""
    shutil.copytree(kept, tmp_path, dirs_exist_ok=True)
    shutil.copyfile(empty_study / "study.duckdb", tmp_path / "new.duckdb")
    return tmp_path


def _drop_columns(landing: LandingZone, table: str, dropped: list[str]) -> None:
    """Write the one bundle of a landing zone anew, without columns of a table: what an older version landed."""
    (manifest,) = landing.manifests().bundles
    files = []
    for held in manifest.files:
        file = held
        if held.table == table:
            path = Path(landing.store.location(file.path))
            sink = io.BytesIO()
            rows = pq.ParquetFile(path).read().drop_columns(dropped)
            pq.write_table(rows, sink)
            content = sink.getvalue()
            path.write_bytes(content)
            changes = {"byte_count": len(content), "checksum": checksum(content), "columns": tuple(rows.column_names)}
            file = held.model_copy(update=changes)
        files.append(file)
    changed = Manifest(bundle_id=manifest.bundle_id, run_id="run", files=tuple(files), episodes=manifest.episodes)
    Path(landing.store.location(manifest.path)).write_bytes(changed.to_json())


def test_older_warehouse_opens_before_and_after_a_merge(older):
    path = older / "warehouse.duckdb"
    with Warehouse.open(path) as warehouse:
        assert warehouse.sql("select count(*) from episodes").rows() == [(4,)]
    assert merge(LandingZone(older / "landing"), path).bundle_count == 0
    with Warehouse.open(path) as warehouse:
        assert warehouse.has_current_marts()
        assert warehouse.sql("select count(*) from marts.episode_metrics").rows() == [(4,)]
        for table in TABLES:
            columns = warehouse.sql(f"select * from main.{table} limit 0").columns
            assert {column.name for column in duckdb_columns(table)} <= set(columns)


def test_older_warehouse_takes_in_a_bundle_of_today(older, make_episode):
    landing = LandingZone(older / "landing")
    landing.write(make_episode("today"), "run")
    report = merge(landing, older / "warehouse.duckdb")
    assert (report.bundle_count, report.refusals, report.row_counts["episodes"]) == (1, (), 1)


def test_older_bundle_merges_with_all_of_its_rows(older):
    report = merge(LandingZone(older / "landing"), older / "new.duckdb")
    assert (report.bundle_count, report.refusals) == (1, ())
    assert (report.row_counts["episodes"], report.row_counts["cave_turns"]) == (4, 1)


@pytest.mark.parametrize(
    ("table", "row"),
    [
        ("errors", {"episode_id": "t-persistent", "is_injected_missing_name": False, "message": None}),
        ("instances", {"instance_id": "train", "class_universe": [], "family": "knapsack"}),
    ],
)
def test_columns_that_a_bundle_lacks_get_their_defaults(older, table, row):
    key, *dropped = row
    held = LandingZone(older / "landing").manifests().bundles[0].file(table)
    assert held is not None
    _drop_columns(LandingZone(older / "landing"), table, [name for name in dropped if name in held.columns])
    landing = LandingZone(older / "landing")
    report = merge(landing, older / "new.duckdb")
    assert (report.refusals, report.row_counts["episodes"]) == ((), 4)
    query = f"select {', '.join(row)} from {table} where {key} = '{row[key]}'"
    for opened in (older / "new.duckdb", older / "landing"):
        with Warehouse.open(opened) as warehouse:
            assert warehouse.sql(query).rows() == [tuple(row.values())]
    is_one = pl.col(key) == row[key]
    assert landing.scan(table).filter(is_one).select(list(row)).collect().to_dicts() == [row]
    assert landing.read(table, list(row), is_one).to_pylist() == [row]


def test_bundle_without_a_key_names_the_way_out(older):
    _drop_columns(LandingZone(older / "landing"), "errors", ["turn"])
    report = merge(LandingZone(older / "landing"), older / "new.duckdb")
    assert report.refusals[0].reason.endswith("key column 'turn' is missing; land its run again with this version")


@pytest.mark.parametrize("table", sorted(TABLES))
def test_later_columns_are_nullable_or_have_a_default(kept, table):
    (manifest,) = LandingZone(kept / "landing").manifests().bundles
    held = manifest.file(table)
    if held is None:  # a table that came later
        return
    fields = TABLES[table].model_fields
    assert set(held.columns) <= set(fields)
    for name in set(fields) - set(held.columns):
        assert arrow_schema(table).field(name).nullable or not fields[name].is_required()
    assert pl.read_parquet(kept / "landing" / held.path).height > 0
