"""Flows in processes of their own, as a person starts them."""

import os
import subprocess
import sys
from pathlib import Path
from typing import IO

ROOT = Path(__file__).parents[2]


def start_flow(home: Path, name: str, *options: str, stderr: int | IO[str] = subprocess.PIPE) -> subprocess.Popen[str]:
    """Start `python -m flows.NAME` on a data folder, with a Prefect server of its own."""
    return start_python(home, "-m", f"flows.{name}", *options, stderr=stderr)


def start_python(home: Path, *arguments: str, stderr: int | IO[str] = subprocess.PIPE) -> subprocess.Popen[str]:
    """Start Python in the repository on a data folder, with no Prefect server named."""
    environment = {key: value for key, value in os.environ.items() if key != "PREFECT_API_URL"}
    return subprocess.Popen(
        [sys.executable, *arguments],
        cwd=ROOT,
        env=environment | {"CARRYOVER_HOME": str(home)},
        stdout=subprocess.PIPE,
        stderr=stderr,
        text=True,
    )


def run_flow(home: Path, name: str, *options: str) -> str:
    """Run a flow that must succeed and return what it printed."""
    process = start_flow(home, name, *options)
    printed, said = process.communicate()
    assert process.returncode == 0, said[-8000:]
    return printed
