import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from carryover.storage.errors import LandingError
from carryover.storage.zone.bundles import BundledEpisode, BundleFile, checksum
from carryover.storage.zone.landing import LandingZone
from carryover.storage.zone.schemas import arrow_schema, nullable_schema
from carryover.tasks.traces.result_rows import StatisticRow
from carryover.tasks.traces.rows import EpisodeRow, InstanceRow, StepRow
from carryover.tasks.traces.study_rows import RunRow
from carryover.tasks.traces.vocabulary import FinishReason


def _files(landing: LandingZone) -> list[str]:
    return sorted(str(path.relative_to(landing.url)) for path in Path(landing.url).rglob("*") if path.is_file())


def test_a_write_lands_one_file_per_table_and_a_manifest(landing, make_episode):
    landed = landing.write(make_episode("e"), "run")
    contents = {file.path: landing.store.read(file.path) for file in landed.files}
    assert landed.files == tuple(
        BundleFile(
            table=table,
            path=path,
            row_count=row_count,
            byte_count=len(contents[path]),
            checksum=checksum(contents[path]),
            columns=tuple(arrow_schema(table).names),
        )
        for (table, row_count), path in zip((("episodes", 1), ("turns", 2), ("steps", 2)), contents, strict=True)
    )
    ended = BundledEpisode(episode_id="e", plan_digest="plan", finish_reason=FinishReason.FINISH_TOOL)
    assert (landed.run_id, landed.episodes) == ("run", (ended,))
    (read,) = LandingZone(landing.url).manifests().bundles
    assert read.model_copy(update={"checksum": ""}) == landed
    assert _files(landing) == [
        f"bundles/run_id=run/{landed.bundle_id}.json",
        f"episodes/run_id=run/{landed.bundle_id}.parquet",
        f"steps/run_id=run/{landed.bundle_id}.parquet",
        f"turns/run_id=run/{landed.bundle_id}.parquet",
    ]


def test_landed_columns_are_compressed(landing, make_episode):
    for file in landing.write(make_episode("e"), "run").files:
        group = pq.ParquetFile(pa.BufferReader(landing.store.read(file.path))).metadata.row_group(0)
        assert {group.column(index).compression for index in range(group.num_columns)} == {"ZSTD"}


def test_files_without_a_manifest_do_not_count(landing, make_episode):
    landed = landing.write(make_episode("kept"), "run")
    lost = landing.write(make_episode("lost"), "run")
    (Path(landing.url) / f"bundles/run_id=run/{lost.bundle_id}.json").unlink()
    assert landing.read("episodes", ["episode_id"]).to_pylist() == [{"episode_id": "kept"}]
    assert [manifest.bundle_id for manifest in landing.manifests().bundles] == [landed.bundle_id]


def test_episode_played_twice_is_read_from_its_first_bundle(landing, make_episode):
    landing.write(make_episode("e", step_count=1, code="first"), "run")
    landing.write({**make_episode("e", step_count=3, code="second")}, "run")
    landing.write(make_episode("f", step_count=1, code="third"), "run")
    assert landing.read("steps", ["episode_id", "code"]).to_pylist() == [
        {"episode_id": "e", "code": "first"},
        {"episode_id": "f", "code": "third"},
    ]


def test_repeated_episode_hides_no_other_episode_of_its_bundle(landing, make_episode):
    landing.write(make_episode("e", score=0.25), "run")
    again, other = make_episode("e", score=0.75), make_episode("f", score=0.5)
    landing.write({table: again[table] + other[table] for table in again}, "run")
    assert landing.read("episodes", ["episode_id", "score"]).to_pylist() == [
        {"episode_id": "e", "score": 0.25},
        {"episode_id": "f", "score": 0.5},
    ]


def test_repeated_row_is_read_once_derived_one_in_latest_form(landing, make_row):
    for estimate in (1.0, 2.0):
        landing.write(
            {
                "instances": [make_row(InstanceRow, instance_id="i")],
                "statistics": [make_row(StatisticRow, statistic_id="s", estimate=estimate)],
            },
            "run",
        )
    assert landing.read("instances").num_rows == 1
    assert landing.read("statistics", ["estimate"]).to_pylist() == [{"estimate": 2.0}]


def test_columns_and_rows_can_be_chosen(landing, make_episode):
    landing.write(make_episode("e", step_count=3), "run")
    read = landing.read("steps", ["step"], where=pl.col("step") > 1)
    assert read == pa.table(
        {"step": pa.array([2, 3], pa.int64())}, schema=pa.schema([arrow_schema("steps").field("step")])
    )


def test_table_without_landed_rows_is_empty_with_its_columns(landing):
    assert landing.read("steps") == nullable_schema("steps").empty_table()
    assert landing.scan("steps").collect_schema().names() == arrow_schema("steps").names


def test_landed_episodes_of_a_plan_tell_how_they_ended(landing, make_episode):
    landing.write(make_episode("done", finish_reason=FinishReason.MAX_TURNS), "run")
    landing.write(make_episode("broken", finish_reason=FinishReason.ERROR), "run")
    assert landing.landed_episodes("plan") == {"done": FinishReason.MAX_TURNS, "broken": FinishReason.ERROR}
    assert landing.landed_episodes("other plan") == {}


def test_episode_landed_twice_ended_as_its_first_copy_says(landing, make_episode):
    """A resume and the warehouse read the same copy."""
    landing.write(make_episode("e", finish_reason=FinishReason.MAX_TURNS), "run")
    landing.write(make_episode("e", finish_reason=FinishReason.FINISH_TOOL), "run")
    assert landing.landed_episodes("plan") == {"e": FinishReason.MAX_TURNS}
    assert landing.read("episodes", ["finish_reason"]).to_pylist() == [{"finish_reason": "max_turns"}]


def test_landed_episodes_of_a_run_leave_out_others(landing, make_episode):
    landing.write(make_episode("e"), "run")
    assert set(landing.landed_episodes(run_id="run")) == {"e"}
    assert landing.landed_episodes(run_id="another") == {}


def test_bundles_of_another_writer_are_seen_at_once(landing, make_episode):
    assert landing.landed_episodes("plan") == {}
    LandingZone(landing.url).write(make_episode("e"), "run")
    assert set(landing.landed_episodes("plan")) == {"e"}


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (lambda row: {"steps": [row(StepRow, episode_id="e")]}, "'steps' without their episode 'e'"),
        (lambda row: {"runs": [row(RunRow, run_id="other")]}, "belongs to run 'other', landed by run 'run'"),
        (lambda row: {"instances": [row(InstanceRow), row(InstanceRow)]}, "1 rows of 'instances' repeat a key"),
        (lambda row: {"runs": [row(EpisodeRow)]}, "table 'runs' takes RunRow, got EpisodeRow"),
        (lambda row: {"run": [row(RunRow)]}, "unknown table 'run'"),
        (lambda row: {"runs": []}, "no rows to land"),
    ],
)
def test_rows_that_do_not_belong_together_are_refused(landing, make_row, rows, message):
    with pytest.raises(ValueError, match=message):
        landing.write(rows(make_row), "run")
    assert _files(landing) == []


def test_a_run_id_that_is_no_folder_name_is_refused(landing, make_row):
    with pytest.raises(ValueError, match=r"invalid run id '\.\./x'; use letters"):
        landing.write({"runs": [make_row(RunRow, run_id="../x")]}, "../x")


def test_a_folder_that_cannot_be_written_is_named(tmp_path, make_episode):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(
        LandingError, match=rf"cannot write {tmp_path}/file/landing/.*: Not a directory; make it writable or"
    ):
        LandingZone(tmp_path / "file" / "landing").write(make_episode("e"), "run")


def test_a_full_disk_is_named_and_leaves_nothing_behind(landing, make_episode, limit_file_size):
    # The steps file is the third: two files are whole when it fails.
    rows = make_episode("e", code=os.urandom(20_000).hex())
    with (
        limit_file_size(19_000),
        pytest.raises(
            LandingError, match=rf"cannot write {landing.url}/steps/.*: File too large; free space there or land"
        ),
    ):
        landing.write(rows, "run")
    assert _files(landing) == []


def test_an_unknown_protocol_is_named():
    with pytest.raises(LandingError, match="cannot open nowhere://x"):
        LandingZone("nowhere://x")


def test_a_writer_killed_in_mid_write_commits_nothing(landing, tmp_path):
    """SIGKILL between the data files and the manifest, by a filesystem call that never returns."""
    script = tmp_path / "writer.py"
    script.write_text(
        "import os, signal, sys\n"
        "from carryover.storage.zone.files import FileStore\n"
        "from carryover.storage.zone.landing import LandingZone\n"
        "from carryover.tasks.traces.study_rows import RunEndRow\n"
        "from datetime import UTC, datetime\n"
        "write = FileStore.write\n"
        "def write_and_die(store, path, content):\n"
        "    write(store, path, content)\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "FileStore.write = write_and_die\n"
        "row = RunEndRow(run_id='run', status='finished', message='', finished_at=datetime.now(UTC))\n"
        "LandingZone(sys.argv[1]).write({'run_ends': [row]}, 'run')\n"
    )
    ended = subprocess.run([sys.executable, script, landing.url], cwd=Path(__file__).parents[3], check=False)
    assert ended.returncode == -signal.SIGKILL
    assert len(_files(landing)) == 1
    assert landing.read("run_ends").num_rows == 0


def test_a_manifest_of_another_format_is_newer_where_its_checksum_fits(landing, make_episode):
    path = landing.write(make_episode("e", plan_digest="Plän"), "run").path
    fields = json.loads(landing.store.read(path)) | {"format_version": 2}
    landing.store.write(path, json.dumps(fields).encode())
    damaged = LandingZone(landing.url).manifests()
    assert damaged == ((), {path: "not a manifest: Input should be 1"}, {})
    del fields["checksum"]
    written = json.dumps(fields, separators=(",", ":"), ensure_ascii=False).encode()
    landing.store.write(path, json.dumps(fields | {"checksum": checksum(written)}).encode())
    newer = LandingZone(landing.url).manifests()
    assert newer == ((), {}, {path: "manifest of a newer version; upgrade Carryover"})
