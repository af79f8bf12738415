"""Flows in processes of their own, as a person starts them."""

import os
import subprocess
import sys
from pathlib import Path
from typing import IO

ROOT = Path(__file__).parents[2]


def start_flow(
    home: Path, name: str, *options: str, server: str | None = None, stderr: int | IO[str] = subprocess.PIPE
) -> subprocess.Popen[str]:
    """Start `carryover NAME` on a data folder, on a Prefect server or with one of its own."""
    return start_python(home, "-m", "carryover.flows.cli.start", *name.split(), *options, server=server, stderr=stderr)


def start_python(
    home: Path, *arguments: str, server: str | None = None, stderr: int | IO[str] = subprocess.PIPE
) -> subprocess.Popen[str]:
    """Start Python in the repository on a data folder, with the address of a Prefect server or none."""
    environment = {key: value for key, value in os.environ.items() if key != "PREFECT_API_URL"}
    if server is not None:
        environment |= {"PREFECT_API_URL": server, "PREFECT_HOME": str(home / "prefect")}
    return subprocess.Popen(
        [sys.executable, *arguments],
        cwd=ROOT,
        env=environment | {"CARRYOVER_HOME": str(home)},
        stdout=subprocess.PIPE,
        stderr=stderr,
        text=True,
    )


def run_flow(home: Path, name: str, *options: str, server: str | None = None) -> str:
    """Run a flow that must succeed and return what it printed."""
    process = start_flow(home, name, *options, server=server)
    try:
        printed, said = process.communicate()
    finally:
        process.kill()  # a test that times out leaves no flow behind
    assert process.returncode == 0, said[-8000:]
    return printed
