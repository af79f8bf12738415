"""Commands that keep a machine going pass on what they are given, and tell what they find."""

from pathlib import Path

import pytest

from carryover.flows.cli.folders import find_folders
from carryover.flows.cli.machine import worker
from carryover.storage.zone.landing import LandingZone
from carryover.tasks.services.errors import UserError
from tests.flattening import flat
from tests.flows.cli.calling import call, note_calls, run
from tests.storage.conftest import build_episode

SERVED = {
    "--engine": "vllm", "--name": "mine", "--revision": "b968826", "--host": "0.0.0.0", "--port": 8001,
    "--context-tokens": 512, "--max-concurrent": 3, "--threads": 2, "--gpu-memory-share": 0.5,
}  # fmt: skip
DEFAULTS = {
    "engine": "cpu", "name": "base", "revision": None, "host": "127.0.0.1", "port": 8000, "context_tokens": None,
    "max_concurrent": 16, "threads": 1, "gpu_memory_share": 0.95,
}  # fmt: skip


@pytest.fixture
def served(monkeypatch):
    """What a server was started with."""
    given = []
    start = "carryover.flows.cli.machine.serve.start_server"
    monkeypatch.setattr(start, lambda *models, **options: given.append((models, options)))
    return given


def test_serve_passes_every_option_on(served):
    options = [str(word) for word in flat(SERVED.items())]
    run("serve", "folder", "--adapter", "a=one", "--adapter", "b=two", *options)
    expected = {name.removeprefix("--").replace("-", "_"): value for name, value in SERVED.items()}
    assert served == [(("folder", ["a=one", "b=two"]), expected)]


def test_serve_listens_on_this_machine_by_default(served):
    run("serve", "folder")
    assert served == [(("folder", []), DEFAULTS)]


def test_worker_takes_pool_name_and_data_folder(monkeypatch):
    started = note_calls(monkeypatch, worker, "start_worker")
    run("worker", "--pool", "gpu", "--name", "mine", "--home", "/study")
    run("worker", "--pool", "cpu")
    assert started == [("gpu", "mine", Path("/study")), ("cpu", None, None)]


def test_merge_counts_rows_and_names_what_it_quarantined(tmp_path):
    zone = LandingZone(find_folders(tmp_path).landing)
    zone.write(build_episode("whole"), "run")
    zone.write(build_episode("torn", "other"), "other")
    torn = [file for file in (tmp_path / "landing").rglob("*.parquet") if "other" in str(file)]
    torn[0].write_bytes(b"torn")
    merged = call("merge", "--home", tmp_path)
    assert merged.stdout.startswith("1 bundles, 5 rows in ")
    assert merged.stdout.endswith(f"; warehouse {tmp_path / 'warehouse.duckdb'}\n")
    refused = [line for line in merged.stderr.splitlines() if line.startswith("quarantined ")]
    assert len(refused) == 4  # the manifest and its three files
    assert all("run_id=other" in line for line in refused)
    shown = [line.partition(" in ")[0] for line in merged.stderr.splitlines() if " of " in line]
    assert shown[0] == "merge: 5 of 5 rows"
    assert shown[1].startswith("marts: ")


def test_merge_and_doctor_name_bundles_of_a_newer_version(tmp_path):
    zone = LandingZone(find_folders(tmp_path).landing)
    manifest = zone.write(build_episode("e"), "run")
    of_tomorrow = manifest.files[1].model_copy(update={"table": "thoughts"})
    newer = manifest.model_copy(update={"files": (*manifest.files, of_tomorrow)})
    zone.store.write(manifest.path, newer.to_json())
    merged = call("merge", "--home", tmp_path)
    reason = "table 'thoughts' is unknown to this version; upgrade Carryover"
    assert f"not merged {manifest.path}: {reason}" in merged.stderr.splitlines()
    said = run("doctor", "--home", tmp_path)
    assert "1 landed bundles are of a newer version; upgrade Carryover to merge them" in said
    assert "not merged yet" not in said


def test_doctor_compares_files_with_checksums_on_request(tmp_path):
    zone = LandingZone(find_folders(tmp_path).landing)
    zone.write(build_episode("whole"), "run")
    assert "match their checksums" not in run("doctor", "--home", tmp_path)
    assert f"1 bundles in {zone.url} match their checksums" in run("doctor", "--verify", "--home", tmp_path)
    next((tmp_path / "landing").rglob("*.parquet")).write_bytes(b"torn")
    with pytest.raises(UserError, match="1 damaged bundles in"):
        run("doctor", "--verify", "--home", tmp_path)
