"""A stage on a disk that is full: one line, exit code 1, nothing half-written, and the next start goes on."""

from pathlib import Path

import pytest

from storage.landing import LandingZone
from tests.flows.flow_process import start_python

STAGE = """
import resource
import sys

from prefect import flow

from flows.cli.command import run_as_command
from flows.generate_instances import generate_instances


@flow
def on_a_small_disk(largest_file: int) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (largest_file, resource.RLIM_INFINITY))
    generate_instances(scale="laptop")


run_as_command(on_a_small_disk)
"""


def generate(home: Path, largest_file: int) -> tuple[int, list[str]]:
    """Generate the laptop plan's instances where no file may outgrow a size: the system refuses to write on.

    Returns the exit code and what was said on standard error.
    """
    process = start_python(home, "-c", STAGE, "--largest-file", str(largest_file))
    _, said = process.communicate()
    return process.returncode, said.splitlines()


@pytest.mark.prefect
@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_stage_that_can_write_no_further_leaves_nothing_half_written(tmp_path):
    home = tmp_path / "data"
    code, said = generate(home, largest_file=16_384)
    lines = [line for line in said if "starting a Prefect server" not in line]
    assert code == 1, said
    assert lines[-1].startswith(f"carryover: cannot write {home}/landing/")
    assert lines[-1].endswith("File too large; free space there or land somewhere else")
    assert [line for line in lines[:-1] if not line.startswith("instances, ")] == []
    zone = LandingZone(home / "landing")
    assert zone.read("instances").num_rows == 0
    committed = {file.path for manifest in zone.manifests().bundles for file in manifest.files}
    assert {file.path for file in zone.store.find() if file.path.endswith((".parquet", ".tmp"))} == committed

    code, said = generate(home, largest_file=2**40)
    assert code == 0, said
    assert zone.read("instances").num_rows == 1000 + 100
