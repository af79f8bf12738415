"""A Prefect worker, named after its machine's GPU and memory."""

import os
import platform
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NoReturn

from carryover.tasks.services.folders import HOME_VARIABLE
from carryover.tasks.sft.machine import named_by, this_machine

GPU_POOL = "gpu"


def start_worker(pool: str, name: str | None, home: Path | None) -> NoReturn:
    """Become a Prefect worker of a pool."""
    if home is not None:
        os.environ[HOME_VARIABLE] = str(home.absolute())
    sys.stdout.flush()
    os.execv(sys.executable, [sys.executable, *worker_command(pool, name, os.environ)])


def worker_command(pool: str, name: str | None, variables: Mapping[str, str]) -> list[str]:
    """Return Python's arguments; a `gpu` worker takes one run at a time.

    The name is all that Prefect's API keeps of a worker, so it says what the machine has.
    """
    device = variables.get("CUDA_VISIBLE_DEVICES", "")
    label = name or f"{platform.node()}-{pool}{device}"
    command = ["-m", "prefect", "worker", "start", "--pool", pool]
    command += ["--name", named_by(label, this_machine(variables))]
    if pool == GPU_POOL:
        return [*command, "--limit", "1"]
    return command
