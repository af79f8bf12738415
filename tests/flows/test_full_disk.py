"""A stage on a disk that is full: one line, exit code 1, nothing half-written, and the next start goes on."""

from pathlib import Path
from typing import NamedTuple

import pytest

from carryover.storage.zone.landing import LandingZone
from tests.flattening import flat
from tests.flows.flow_process import start_python

STAGES = """
import importlib
import resource

from prefect import flow

from carryover.flows.cli.command import run_as_command
from carryover.storage.zone.batching import BatchedLanding
from carryover.tasks.plans.overrides import Overrides

# each shard lands once, at its end: no smaller batch before it fits, on a slow machine neither
BatchedLanding.__init__.__kwdefaults__.update(seconds_per_batch=3600.0, episodes_per_batch=10_000)


@flow
def on_a_small_disk(
    scale: str, train_count: int, evaluation_count: int, before: list[str], stage: str, largest_file: int
) -> None:
    counts = Overrides(train_count=train_count, evaluation_count=evaluation_count)
    for name in [*before, stage]:
        if name == stage:
            resource.setrlimit(resource.RLIMIT_FSIZE, (largest_file, resource.RLIM_INFINITY))
        getattr(importlib.import_module(f"carryover.flows.{name}"), name)(scale, counts)


run_as_command(on_a_small_disk)
"""


class Case(NamedTuple):
    """A stage that writes a file larger than what the disk takes, and smaller ones before it."""

    stage: str
    scale: str
    train_count: int
    largest_file: int
    refused: str
    """What cannot be written, within the data folder."""
    table: str
    """What the stage lands, in the end."""
    row_count: int
    before: str = "[]"
    """Stages that have all the room, as JSON."""
    row_count_before: int = 0
    """Rows of the same table that those land."""
    evaluation_count: int = 6


LARGEST_FILE = 32_768
"""Bytes: more than the row of a run with its plan and environment takes, less than what each stage writes."""
GENERATED = '["generate_instances"]'
COLLECTED = '["generate_instances", "collect_traces"]'
PREPARED = '["generate_instances", "collect_traces", "prepare_training"]'
TRAINED = '["generate_instances", "collect_traces", "prepare_training", "train_models"]'
CASES = (
    Case("generate_instances", "laptop", 1000, LARGEST_FILE, "landing/", "instances", 1000 + 100, evaluation_count=100),
    Case("collect_traces", "smoke", 160, LARGEST_FILE, "landing/", "episodes", 2 * 160 + 4 * 6, GENERATED),
    Case("prepare_training", "smoke", 12, LARGEST_FILE, "datasets/", "training_examples", 2 * 12, COLLECTED),
    Case("train_models", "smoke", 12, LARGEST_FILE, "models/", "training_runs", 2, PREPARED),
    Case("evaluate_models", "smoke", 12, LARGEST_FILE, "models/", "episodes", 24 + 10 * 6, TRAINED, 24 + 4 * 6),
)


def start(home: Path, case: Case, largest_file: int, server: str) -> tuple[int, list[str]]:
    """Run a stage where no file may outgrow a size: the system refuses to write on.

    Returns the exit code and what was said on standard error, but for how far it had come.
    """
    fields = {**case._asdict(), "largest_file": largest_file}
    wanted = ("scale", "train_count", "evaluation_count", "before", "stage", "largest_file")
    options = flat((f"--{name.replace('_', '-')}", str(fields[name])) for name in wanted)
    process = start_python(home, "-c", STAGES, *options, server=server)
    _, said = process.communicate()
    return process.returncode, [line for line in said.splitlines() if line.startswith(("carryover: ", "Traceback"))]


def unfinished_files(home: Path) -> set[Path]:
    """Return the files of the data folder that are under no name that a reader takes."""
    folders = (home / "landing", home / "datasets")
    return {file for file in flat(folder.rglob("*") for folder in folders) if file.suffix in (".tmp", ".unfinished")}


@pytest.mark.prefect
@pytest.mark.slow
@pytest.mark.timeout(1500)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stage)
def test_stage_on_a_full_disk_leaves_no_partial_file(case, tmp_path, prefect_api):
    home = tmp_path / "data"
    code, said = start(home, case, case.largest_file, prefect_api)
    assert code == 1, said
    (line,) = said
    assert line.startswith(f"carryover: cannot write {home}/{case.refused}")
    assert "/landing/runs/" not in line
    assert "File too large; free space there" in line
    zone = LandingZone(home / "landing")
    assert zone.read(case.table).num_rows == case.row_count_before
    committed = {file.path for file in flat(manifest.files for manifest in zone.manifests().bundles)}
    assert {file.path for file in zone.store.find() if file.path.endswith((".parquet", ".tmp"))} == committed
    assert unfinished_files(home) == set()

    code, said = start(home, case, 2**40, prefect_api)
    assert code == 0, said
    assert zone.read(case.table).num_rows == case.row_count
