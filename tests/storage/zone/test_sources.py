import io
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from carryover.storage.errors import LandingError
from carryover.storage.warehouse.merger import merge
from carryover.storage.warehouse.reader import Warehouse
from carryover.storage.zone.bundles import Manifest
from carryover.storage.zone.files import FileStore
from carryover.storage.zone.landing import LandingZone, schema_digest
from carryover.storage.zone.sources import why_torn
from carryover.tasks.traces.study_rows import StatisticRow


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
    manifest = Manifest.model_validate_json(landing.store.read(manifest_path))
    written = {"byte_count": len(sink.getvalue()), "schema_digest": schema_digest(rows.schema)}
    files = tuple(file.model_copy(update=written) if file.table == table else file for file in manifest.files)
    landing.store.write(manifest_path, manifest.model_copy(update={"files": files}).model_dump_json().encode())
    return LandingZone(landing.url)


@pytest.mark.usefixtures("no_bucket_of_its_own")
def test_a_file_that_the_disk_refuses_is_refused_and_an_unreachable_bucket_is_no_reason(landing, make_episode):
    landing.write(make_episode("e", step_count=1), "run")
    ((file, *_),) = (manifest.files for manifest in landing.manifests().bundles)
    path = Path(landing.store.absolute(file.path))
    path.unlink()
    assert why_torn(file, landing.store) == "file missing"
    path.mkdir()
    assert "cannot read" in (why_torn(file, landing.store) or "")
    options = {"endpoint_url": "http://127.0.0.1:9", "key": "test", "secret": "test"}
    bucket = FileStore(
        "s3://carryover/unreachable", options | {"config_kwargs": {"retries": {"total_max_attempts": 1}}}
    )
    with pytest.raises(LandingError, match="cannot read carryover/unreachable"):
        why_torn(file, bucket)


def test_a_column_that_came_later_is_null_in_older_files(land_otherwise, tmp_path):
    landing = land_otherwise(lambda steps: steps.drop_columns(["state_hash"]))
    expected = [("other", 1, None), ("present", 1, None)]
    assert (
        landing.scan("steps").select("episode_id", "step", "state_hash").collect().sort("episode_id").rows() == expected
    )
    with Warehouse.open(landing.url) as warehouse:
        assert warehouse.sql("select episode_id, step, state_hash from steps order by all").rows() == expected
    assert merge(landing, tmp_path / "study.duckdb").refusals == ()
    with Warehouse.open(tmp_path / "study.duckdb") as warehouse:
        assert warehouse.sql("select episode_id, step, state_hash from steps order by all").rows() == expected


def test_statistics_landed_before_intervals_had_a_kind_name_it_wherever_they_are_read(landing, make_row, tmp_path):
    methods = {
        "bootstrap percentile, 9 resamples": ("mean", "percentile"),
        "bootstrap BCa, 9 resamples": ("mean", "BCa"),
        "equivalence, two one-sided paired t-tests": ("equivalence", "t"),
        "wilcoxon signed-rank": ("wilcoxon", None),
    }
    rows = [
        make_row(StatisticRow, statistic_id=method, method=method, analysis=analysis)
        for method, (analysis, _) in methods.items()
    ]
    landed = landing.write({"statistics": rows}, "run")
    landing = _rewritten(landing, landed.bundle_id, "statistics", lambda table: table.drop_columns(["interval_kind"]))
    expected = sorted((method, kind) for method, (_, kind) in methods.items())
    merge(landing, tmp_path / "study.duckdb")
    assert landing.scan("statistics").select("method", "interval_kind").sort("method").collect().rows() == expected
    for place in (tmp_path / "study.duckdb", landing.url):
        with Warehouse.open(place) as warehouse:
            assert warehouse.sql("select method, interval_kind from statistics order by method").rows() == expected


def test_columns_in_another_order_are_matched_by_name(land_otherwise, tmp_path):
    landing = land_otherwise(lambda steps: steps.select(steps.column_names[::-1]))
    merge(landing, tmp_path / "study.duckdb")
    with Warehouse.open(tmp_path / "study.duckdb") as warehouse:
        assert warehouse.sql("select episode_id, code from steps order by all").rows() == [
            ("other", "x = 1"),
            ("present", "x = 1"),
        ]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda steps: steps.drop_columns(["code"]), "column 'code' of 'steps' is missing; an older version landed it"),
        (
            lambda steps: steps.append_column("mood", pa.array(["calm"])),
            "column 'mood' of 'steps' is unknown to this version; upgrade Carryover",
        ),
    ],
)
def test_a_file_that_the_schema_cannot_hold_is_quarantined(land_otherwise, tmp_path, change, reason):
    report = merge(land_otherwise(change), tmp_path / "study.duckdb")
    assert report.row_counts["episodes"] == 1
    assert report.refusals[0].reason.endswith(reason)
