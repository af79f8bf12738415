import io
from collections.abc import Callable

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from carryover.storage.warehouse.merger import merge
from carryover.storage.warehouse.reader import Warehouse
from carryover.storage.zone.bundles import Manifest, checksum
from carryover.storage.zone.landing import LandingZone


@pytest.fixture
def land_otherwise(landing, make_episode) -> Callable[[Callable[[pa.Table], pa.Table]], LandingZone]:
    """Land an episode as the present version does, and one whose steps another version wrote."""

    def land(change: Callable[[pa.Table], pa.Table]) -> LandingZone:
        landing.write(make_episode("present", step_count=1), "run")
        landed = landing.write(make_episode("other", step_count=1), "run")
        return _rewritten(landing, landed.bundle_id, "steps", change)

    return land


def _rewritten(landing: LandingZone, bundle_id: str, table: str, change: Callable[[pa.Table], pa.Table]) -> LandingZone:
    path = f"{table}/run_id=run/{bundle_id}.parquet"
    rows = change(pq.read_table(io.BytesIO(landing.store.read(path))))
    sink = io.BytesIO()
    pq.write_table(rows, sink)
    landing.store.write(path, sink.getvalue())
    manifest_path = f"bundles/run_id=run/{bundle_id}.json"
    manifest = Manifest.from_json(landing.store.read(manifest_path))
    content = sink.getvalue()
    written = {"byte_count": len(content), "checksum": checksum(content), "columns": tuple(rows.column_names)}
    files = tuple(file.model_copy(update=written) if file.table == table else file for file in manifest.files)
    landing.store.write(manifest_path, manifest.model_copy(update={"files": files}).to_json())
    return LandingZone(landing.url)


def test_a_column_that_came_later_is_null_in_older_files(land_otherwise, path):
    landing = land_otherwise(lambda steps: steps.drop_columns(["state_hash"]))
    expected = [("other", 1, None), ("present", 1, None)]
    assert (
        landing.scan("steps").select("episode_id", "step", "state_hash").collect().sort("episode_id").rows() == expected
    )
    with Warehouse.open(landing.url) as warehouse:
        assert warehouse.sql("select episode_id, step, state_hash from steps order by all").rows() == expected
    assert merge(landing, path).refusals == ()
    with Warehouse.open(path) as warehouse:
        assert warehouse.sql("select episode_id, step, state_hash from steps order by all").rows() == expected


def test_columns_in_another_order_are_matched_by_name(land_otherwise, path):
    landing = land_otherwise(lambda steps: steps.select(steps.column_names[::-1]))
    merge(landing, path)
    with Warehouse.open(path) as warehouse:
        assert warehouse.sql("select episode_id, code from steps order by all").rows() == [
            ("other", "x = 1"),
            ("present", "x = 1"),
        ]


def test_a_file_without_a_key_is_quarantined(land_otherwise, path):
    report = merge(land_otherwise(lambda steps: steps.drop_columns(["step"])), path)
    assert report.row_counts["episodes"] == 1
    assert report.refusals[0].reason.endswith("key column 'step' is missing; land its run again with this version")


def test_a_bundle_with_an_unknown_column_is_left_in_place(land_otherwise, path):
    landing = land_otherwise(lambda steps: steps.append_column("mood", pa.array(["calm"])))
    report = merge(landing, path)
    assert (report.row_counts["episodes"], report.refusals) == (1, ())
    (newer,) = report.newer
    assert newer.path in [manifest.path for manifest in landing.manifests().bundles]
    assert newer.reason.endswith("column 'mood' is unknown to this version; upgrade Carryover")
