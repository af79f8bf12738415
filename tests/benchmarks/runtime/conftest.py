import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

CGROUP_FOLDER = Path("/sys/fs/cgroup")


@pytest.fixture(scope="session")
def processor_seconds() -> Iterator[Callable[[], float]]:
    """Processor time of this process and of all that it starts, dead or alive: a control group of its own has it."""
    is_unified = (CGROUP_FOLDER / "cgroup.controllers").is_file()
    parent = CGROUP_FOLDER if is_unified else CGROUP_FOLDER / "cpuacct"
    group = parent / f"carryover-runtime-{os.getpid()}"
    try:
        group.mkdir()
        (group / "cgroup.procs").write_text(str(os.getpid()))
    except OSError:
        pytest.skip("needs a control group to count the sandbox's processor time; run it as root")
    usage = group / ("cpu.stat" if is_unified else "cpuacct.usage")
    yield lambda: int(usage.read_text().split()[1]) / 1e6 if is_unified else int(usage.read_text()) / 1e9
    (parent / "cgroup.procs").write_text(str(os.getpid()))
