import itertools
from datetime import timedelta
from pathlib import Path

import pytest

from carryover.storage.errors import WarehouseBusyError
from carryover.storage.warehouse.connection import open_memory
from carryover.storage.warehouse.insertion import insert_bundles
from carryover.storage.warehouse.mart_sources import read_mart_sources
from carryover.storage.warehouse.merger import merge, owned
from carryover.storage.warehouse.migrations import migrate
from carryover.storage.warehouse.reader import Warehouse
from carryover.storage.warehouse.readers_copy import readers_copy_path
from carryover.storage.zone.bundles import Manifest
from carryover.storage.zone.landing import LandingZone
from carryover.storage.zone.quarantine import find_damage
from carryover.tasks.traces.result_rows import StatisticRow
from carryover.tasks.traces.rows import InstanceRow
from carryover.tasks.traces.study_rows import RunRow
from carryover.tasks.traces.training_rows import TrainingExampleRow, TrainingMetricRow, TrainingRunRow
from carryover.tasks.traces.vocabulary import FinishReason
from tests.bars import RecordedBars
from tests.storage.warehouse.asking import rows_of

NO_GRACE = timedelta(0)


def test_a_merge_takes_every_row_in_once(landing, path, make_episode, make_row):
    landing.write({"runs": [make_row(RunRow)]}, "run")
    landing.write(make_episode("e", step_count=2), "run")
    landing.write(make_episode("f", step_count=3), "run")
    report = merge(landing, path)
    assert report.bundle_count == 3
    assert report.row_counts == {"runs": 1, "episodes": 2, "turns": 5, "steps": 5}
    assert rows_of(path, "select episode_id, step from steps order by all") == [
        ("e", 1),
        ("e", 2),
        ("f", 1),
        ("f", 2),
        ("f", 3),
    ]


@pytest.mark.slow
def test_a_merge_shows_its_rows_and_marts(landing, path, make_episode):
    landing.write(make_episode("e", step_count=2), "run")
    bars = RecordedBars()
    merge(landing, path, open_bar=bars.open)
    rows, marts = bars.named("merge"), bars.named("marts")
    assert (rows.unit, rows.total, rows.done) == ("rows", 5, 5)  # an episode, two turns, two steps
    assert marts.done == marts.total == sum(source.schema == "marts" for source in read_mart_sources())

    bars = RecordedBars()
    merge(landing, path, open_bar=bars.open)
    assert bars.shown == []  # nothing was new

    for number in range(4):
        landing.write(make_episode(f"e-{number}"), "run")
        bars = RecordedBars()
        merge(landing, path, open_bar=bars.open)
    assert bars.named("marts").done == marts.total  # also where only the new episode is measured


def test_merging_again_changes_nothing(landing, path, make_episode):
    landing.write(make_episode("e"), "run")
    merge(landing, path)
    copy = readers_copy_path(path).stat()
    report = merge(landing, path)
    assert (report.bundle_count, report.row_counts) == (0, {})
    assert readers_copy_path(path).stat() == copy
    assert rows_of(path, "select count(*) from steps") == [(2,)]


def test_rows_survive_unchanged(landing, path, make_episode):
    rows = make_episode("e", code="print('ä\0\n')", score=None, finish_reason=FinishReason.TIMEOUT)
    landing.write(rows, "run")
    merge(landing, path)
    with Warehouse.open(path) as warehouse:
        for table, expected in rows.items():
            frame = warehouse.sql(f"from {table}").polars().to_dicts()
            assert [type(row).model_validate(values) for row, values in zip(expected, frame, strict=True)] == expected


def test_two_executions_of_an_episode_are_never_mixed(landing, path, make_episode):
    landing.write(make_episode("e", step_count=1, code="first"), "run")
    again, other = make_episode("e", step_count=3, code="second"), make_episode("f", step_count=1, code="second")
    landing.write({table: again[table] + other[table] for table in again}, "run")
    assert merge(landing, path).row_counts["episodes"] == 2
    assert rows_of(path, "select episode_id, step, code from steps order by all") == [
        ("e", 1, "first"),
        ("f", 1, "second"),
    ]


def test_execution_landed_after_merge_of_the_other_changes_nothing(landing, path, make_episode):
    landing.write(make_episode("e", step_count=1, code="first"), "run")
    merge(landing, path)
    landing.write(make_episode("e", step_count=3, code="second"), "run")
    report = merge(landing, path)
    assert (report.bundle_count, report.row_counts) == (1, {})
    assert rows_of(path, "select step, code from steps") == [(1, "first")]


PLAN_EPISODES = "select plan_digest, episode_id, playing_plan_digest from staging.plan_episodes order by all"


@pytest.mark.slow
@pytest.mark.parametrize("is_merged_between", [False, True])
def test_studies_that_land_an_episode_at_once_both_have_it(landing, path, make_episode, is_merged_between):
    landing.write(make_episode("e", plan_digest="first"), "run")
    if is_merged_between:
        merge(landing, path)
    landing.write(make_episode("e", "second", plan_digest="second"), "second")
    landing.write(make_episode("e", "again", plan_digest="first"), "again")
    both = [("first", "e", "first"), ("second", "e", "first")]
    for _ in range(2):
        merge(landing, path)
        assert rows_of(path, PLAN_EPISODES) == both
    assert rows_of(path, "select run_id, plan_digest from reused_episodes") == [("second", "second")]
    assert rows_of(Path(landing.url), PLAN_EPISODES) == both


def test_a_training_done_again_replaces_the_former(landing, path, make_row):
    for run_id, loss in (("first", 1.0), ("refreshed", 2.0)):
        key = {"training_run_id": "t", "run_id": run_id}
        metrics = [make_row(TrainingMetricRow, optimizer_step=step, loss=loss, **key) for step in (1, 2)]
        runs = [make_row(TrainingRunRow, final_loss=loss, **key)]
        landing.write({"training_runs": runs, "training_metrics": metrics}, run_id)
        merge(landing, path)
    assert rows_of(path, "select run_id, final_loss from training_runs") == [("refreshed", 2.0)]
    assert rows_of(path, "select optimizer_step, loss from training_metrics order by all") == [(1, 2.0), (2, 2.0)]


def test_an_instance_landed_by_two_runs_is_there_once(landing, path, make_row):
    for run_id in ("first", "second"):
        landing.write({"instances": [make_row(InstanceRow, run_id=run_id, instance_id="i")]}, run_id)
    merge(landing, path)
    landing.write({"instances": [make_row(InstanceRow, run_id="third", instance_id="i")]}, "third")
    merge(landing, path)
    assert rows_of(path, "select run_id, instance_id from instances") == [("first", "i")]


def test_a_training_example_belongs_to_no_bundle_s_episode(landing, path, make_episode, make_row):
    landing.write(make_episode("e"), "run")
    landing.write({"training_examples": [make_row(TrainingExampleRow, dataset_id="d", episode_id="e")]}, "run")
    merge(landing, path)
    assert rows_of(path, "select dataset_id from training_examples") == [("d",)]


def test_a_statistic_computed_again_replaces_the_former(landing, path, make_row):
    for estimate in (1.0, 2.0, 3.0):
        landing.write({"statistics": [make_row(StatisticRow, statistic_id="s", estimate=estimate)]}, "run")
        if estimate != 1.0:
            merge(landing, path)
    assert rows_of(path, "select statistic_id, estimate from statistics") == [("s", 3.0)]


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_the_statistic_landed_last_stays_whenever_its_bundle_arrives(landing, make_row, order):
    for estimate in (1.0, 2.0, 3.0):
        landing.write({"statistics": [make_row(StatisticRow, statistic_id="s", estimate=estimate)]}, "run")
    bundles = landing.manifests().bundles
    connection = open_memory()
    migrate(connection)
    for number in order:
        insert_bundles(connection, landing, [bundles[number]], [])
    assert connection.sql("select estimate from statistics").fetchall() == [(3.0,)]
    assert connection.sql("from latest_bundles").fetchall() == [("statistics", ["s"], bundles[2].bundle_id)]


def test_a_merge_names_the_process_that_is_merging(landing, path):
    with (
        owned(path),
        pytest.raises(WarehouseBusyError, match=r"study.duckdb is being written by process \d+ on .* since"),
    ):
        merge(landing, path)
    assert merge(landing, path).bundle_count == 0


def test_torn_file_is_quarantined_with_its_bundle_alone(landing, path, make_episode):
    landing.write(make_episode("whole"), "run")
    torn = landing.write(make_episode("torn"), "run")
    steps = Path(landing.url) / f"steps/run_id=run/{torn.bundle_id}.parquet"
    size = steps.stat().st_size
    steps.write_bytes(steps.read_bytes()[:100])
    report = merge(landing, path)
    assert report.row_counts == {"episodes": 1, "turns": 2, "steps": 2}
    assert rows_of(path, "select path, reason from quarantine where path like 'bundles%'") == [
        (
            f"bundles/run_id=run/{torn.bundle_id}.json",
            f"steps/run_id=run/{torn.bundle_id}.parquet: torn, 100 bytes instead of {size}",
        )
    ]
    assert (Path(landing.url) / f"quarantine/steps/run_id=run/{torn.bundle_id}.parquet").exists()
    assert landing.read("episodes", ["episode_id"]).to_pylist() == [{"episode_id": "whole"}]
    assert merge(landing, path).refusals == ()


def test_file_of_right_size_with_other_bytes_is_quarantined(landing, path, make_episode):
    landing.write(make_episode("whole"), "run")
    damaged = landing.write(make_episode("damaged"), "run")
    steps = Path(landing.url) / f"steps/run_id=run/{damaged.bundle_id}.parquet"
    steps.write_bytes(b"\0" * steps.stat().st_size)
    report = merge(landing, path)
    assert report.row_counts == {"episodes": 1, "turns": 2, "steps": 2}
    assert report.refusals[0].path == f"bundles/run_id=run/{damaged.bundle_id}.json"
    assert "damaged, checksum" in report.refusals[0].reason


def test_a_missing_file_is_quarantined_with_its_bundle(landing, path, make_episode):
    broken = landing.write(make_episode("broken"), "run")
    (Path(landing.url) / f"turns/run_id=run/{broken.bundle_id}.parquet").unlink()
    report = merge(landing, path)
    assert report.row_counts == {}
    assert report.refusals[0].reason == f"turns/run_id=run/{broken.bundle_id}.parquet: file missing"


def test_a_foreign_file_is_quarantined(landing, path, make_episode):
    landing.write(make_episode("e"), "run")
    landing.store.write("steps/run_id=run/notes.parquet", b"PAR1")
    report = merge(landing, path)
    assert report.refusals == (("steps/run_id=run/notes.parquet", "foreign: not a file that a landing zone writes"),)
    assert landing.store.read("quarantine/steps/run_id=run/notes.parquet") == b"PAR1"
    assert report.row_counts["steps"] == 2


def test_leftovers_of_a_killed_writer_stay_while_young(landing, path, make_episode):
    killed = landing.write(make_episode("e"), "run")
    (Path(landing.url) / f"bundles/run_id=run/{killed.bundle_id}.json").unlink()
    landing.store.write("steps/run_id=run/.x.parquet.tmp", b"half")
    landing.store.write("bundles/run_id=run/.x.json.tmp", b"half")
    assert merge(landing, path).refusals == ()
    reasons = {refusal.reason for refusal in merge(landing, path, grace=NO_GRACE).refusals}
    assert reasons == {
        "never committed: its writer ended before the manifest",
        "left behind by a writer that ended while writing it",
    }
    assert [file.path for file in landing.store.find() if not file.path.startswith("quarantine/")] == []


def _with_a_new_table(manifest: Manifest) -> bytes:
    of_tomorrow = manifest.files[1].model_copy(update={"table": "thoughts"})
    return manifest.model_copy(update={"files": (*manifest.files, of_tomorrow)}).to_json()


def _of_a_new_format(manifest: Manifest) -> bytes:
    return Manifest.model_copy(manifest, update={"format_version": 2}).to_json()


@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")
@pytest.mark.parametrize(
    ("write_newer", "reason"),
    [
        (_with_a_new_table, "table 'thoughts' is unknown to this version; upgrade Carryover"),
        (_of_a_new_format, "manifest of a newer version; upgrade Carryover"),
    ],
)
def test_a_bundle_of_a_newer_version_waits_for_it(landing, path, make_episode, write_newer, reason):
    landing.write(make_episode("e"), "run")
    (manifest,) = landing.manifests().bundles
    landing.store.write(manifest.path, write_newer(manifest))
    landing.store.write(f"thoughts/run_id=run/{manifest.bundle_id}.parquet", b"of a table of tomorrow")
    files = landing.store.find()
    for _ in range(2):
        report = merge(landing.url, path, grace=NO_GRACE)
        assert (report.bundle_count, report.refusals, report.newer) == (0, (), ((manifest.path, reason),))
    assert [file.path for file in landing.store.find()] == [file.path for file in files]
    assert rows_of(Path(landing.url), "select count(*) from quarantine") == [(0,)]
    assert find_damage(LandingZone(landing.url)) == []
    landing.store.write(manifest.path, manifest.to_json())  # as the upgraded version reads it
    report = merge(landing.url, path)
    assert (report.row_counts, report.newer) == ({"episodes": 1, "turns": 2, "steps": 2}, ())


def test_a_torn_bundle_of_a_newer_version_is_quarantined(landing, path, make_episode):
    landing.write(make_episode("e"), "run")
    (manifest,) = landing.manifests().bundles
    landing.store.write(manifest.path, _with_a_new_table(manifest))
    landing.store.write(manifest.files[0].path, b"torn")
    report = merge(landing.url, path)
    assert (report.refusals[0].path, report.newer) == (manifest.path, ())
    assert "torn, 4 bytes instead of" in report.refusals[0].reason
