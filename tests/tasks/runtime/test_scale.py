"""Many live episodes on a small machine, and nothing left of them."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("thousand_episodes.py")


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_thousand_live_episodes_leave_nothing_behind(tmp_path):
    done = subprocess.run(
        [sys.executable, SCRIPT, tmp_path], capture_output=True, text=True, check=False, cwd=Path(__file__).parents[3]
    )
    assert done.returncode == 0, done.stderr
