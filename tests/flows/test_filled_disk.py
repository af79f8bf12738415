"""A study whose disk becomes full while it runs completes once there is room again: every episode once, no stray.

pytest -m long tests/flows/test_filled_disk.py
"""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.flows.conftest import STUDY
from tests.flows.flow_process import start_flow
from tests.flows.killing import REPEATS, THROUGHOUT, check_completed, end, wait_for

pytestmark = [pytest.mark.long, pytest.mark.slow, pytest.mark.prefect, pytest.mark.timeout(1800)]

DISK_BYTES, ROOM_BYTES = 512 << 20, 64 << 10
"""Of a disk that takes a study, and what is left of it when it becomes full."""


@pytest.fixture
def small_disk(tmp_path) -> Iterator[Path]:
    """A small file system of its own."""
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "carryover", str(disk)], check=True)
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def resize(disk: Path, size: int) -> bool:
    """Give a file system another size; tell whether that is not less than it holds."""
    done = subprocess.run(["mount", "-o", f"remount,size={size}", str(disk)], capture_output=True, check=False)
    return done.returncode == 0


def fill(disk: Path) -> None:
    """Leave a file system next to no room."""
    while not resize(disk, shutil.disk_usage(disk).used + ROOM_BYTES):
        pass


@pytest.mark.parametrize("repeat", range(REPEATS))
def test_study_on_a_full_disk_completes_once_freed(repeat, tmp_path, small_disk, strays):
    """With the database of its own Prefect server on the same disk."""
    home, log = small_disk / "data", tmp_path / "said.txt"
    with log.open("a") as said:
        study = start_flow(home, "run", *STUDY, stderr=said)
        wait_for(home, THROUGHOUT[repeat], lambda: study.poll() is not None)
        fill(small_disk)
        code, words = end(study, log)
        print(f"full disk {repeat}: exit code {code}\n{words[-1500:]}")
        assert code != 0, words
        assert "Traceback" not in words, words
        assert strays() == set()
        assert resize(small_disk, DISK_BYTES)
        code, words = end(start_flow(home, "run", *STUDY, stderr=said), log)
    assert code == 0, words
    assert strays() == set()
    check_completed(home)
