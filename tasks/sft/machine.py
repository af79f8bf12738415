"""Machines and what trainings need of them, here and on workers."""

import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from carryover.tasks.services.environment import gpu_name
from carryover.tasks.services.hub import expanded
from carryover.tasks.sft.model_shape import shape_of
from carryover.tasks.sft.resources import CGROUP_LIMITS, GIB, estimate_resources, smallest_limit
from carryover.tasks.sft.training_spec import TrainingSpec

NAMED_MACHINES = 4
"""Machines that a complaint names."""
_SAID = re.compile(r"\((?P<gpu>[^()]+?)(?:, (?P<gib>\d+) GiB)?\)$")
_NO_GPU = "no GPU"


class Machine(NamedTuple):
    """Hardware of a machine, as a training sees it."""

    gpu: str | None
    """Name of the GPU."""
    memory_bytes: int | None = None
    """Memory of the GPU, or of the machine without one; None if unknown."""
    main_memory_bytes: int | None = None
    """Memory beside that of a GPU; None if unknown, or without a GPU."""

    def __str__(self) -> str:
        gpu = self.gpu or _NO_GPU
        if self.memory_bytes is None:
            return gpu
        said = f"{gpu}, {self.memory_bytes // GIB} GiB"
        if self.main_memory_bytes is None:
            return said
        return f"{said}, beside {self.main_memory_bytes // GIB} GiB"

    def memory_for(self, *, on_gpu: bool) -> int | None:
        """Return the bytes for work on the GPU or on processors; None if unknown."""
        if on_gpu or self.gpu is None:
            return self.memory_bytes
        return self.main_memory_bytes


class MachineNeed(NamedTuple):
    """Hardware that a training needs."""

    training: str
    has_gpu: bool
    memory_bytes: int | None
    """Of the GPU, or of the machine where it trains on processors; None for a base of unknown size."""
    sharing_count: int = 1
    """Trainings that share a GPU, whose memory is meant."""

    def __str__(self) -> str:
        whose = f"the training {self.training}"
        if self.sharing_count > 1:
            whose = f"{self.sharing_count} trainings {self.training} on it (lower --trainings-per-gpu)"
        kind = "a GPU" if self.has_gpu else "memory"
        if self.memory_bytes is None:
            return f"{kind} for {whose}"
        memory = f"{self.memory_bytes / GIB:.1f} GiB"
        amount = f"a GPU with {memory}" if self.has_gpu else f"{memory} of memory"
        return f"{amount} for {whose}"

    def shared_by(self, count: int) -> "MachineNeed":
        """Return the need of several such trainings on one GPU."""
        memory = None if self.memory_bytes is None else count * self.memory_bytes
        return self._replace(memory_bytes=memory, sharing_count=count)

    def is_met_by(self, machine: Machine | None) -> bool:
        """Tell whether a machine has enough.

        One that says nothing has no GPU, and memory for small models.
        """
        if machine is None:
            return not self.has_gpu
        if self.has_gpu and machine.gpu is None:
            return False
        memory = machine.memory_for(on_gpu=self.has_gpu)
        if self.memory_bytes is None or memory is None:
            return True
        return self.memory_bytes <= memory


def this_machine(variables: Mapping[str, str] = os.environ) -> Machine:
    """Return this process's resources: its memory, and its first GPU."""
    physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    memory = smallest_limit(physical, CGROUP_LIMITS)
    visible = variables.get("CUDA_VISIBLE_DEVICES")
    first = None if visible is None else visible.split(",")[0].strip()
    if first not in ("", "-1"):
        gpu = _ask_driver(first) or _named_gpu()
        if gpu is not None:
            return gpu._replace(main_memory_bytes=memory)
    return Machine(None, memory)


def training_need(spec: TrainingSpec, gpu_count: int = 1) -> MachineNeed:
    """Return a training's need of each machine or GPU.

    The hub is not asked for sizes.
    """
    shape = shape_of(spec, expanded(spec.base_model or ""))
    memory = None if shape is None else estimate_resources(spec, shape, gpu_count).memory_bytes
    return MachineNeed(spec.name, spec.is_for_gpu, memory)


def held_at_once(needs: Sequence[MachineNeed], machine: Machine) -> int:
    """Return how many trainings without a GPU a machine's memory holds, one at least."""
    sizes = [need.memory_bytes for need in needs if need.memory_bytes is not None and not need.has_gpu]
    memory = machine.memory_for(on_gpu=False)
    if not sizes or memory is None:
        return len(needs)
    return max(1, memory // max(sizes))


def lacks_of(needs: Sequence[MachineNeed], machines: Mapping[str, Machine | None]) -> str | None:
    """Return each machine's first unmet need; None if one suffices."""
    unmet = []
    for machine in machines.values():
        lacking = [need for need in needs if not need.is_met_by(machine)]
        if not lacking:
            return None
        unmet.append(lacking[0])
    named = list(machines)[:NAMED_MACHINES]
    others = ", ..." if len(machines) > NAMED_MACHINES else ""
    return f"{unmet[0]}, found only {', '.join(named)}{others}"


def named_by(label: str, machine: Machine) -> str:
    """Return a machine's name, for `read_name` to read."""
    said = str(machine._replace(main_memory_bytes=None)).replace("(", "").replace(")", "").replace("/", "-")
    return f"{label} ({said})"


def read_name(name: str) -> Machine | None:
    """Return a machine's hardware by its name, or None."""
    found = _SAID.search(name)
    if found is None:
        return None
    gpu = found["gpu"]
    gib = found["gib"]
    return Machine(None if gpu == _NO_GPU else gpu, None if gib is None else int(gib) * GIB)


def _ask_driver(device: str | None) -> Machine | None:
    """Return a GPU by number or identifier, as `nvidia-smi` tells."""
    command = ["nvidia-smi", "--query-gpu=name,memory.total", "--format=csv,noheader,nounits"]
    if device is not None:
        command.append(f"--id={device}")
    try:
        said = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
        name, _, mebibytes = said.splitlines()[0].rpartition(", ")
        return Machine(name, int(mebibytes) * 2**20)
    except (OSError, subprocess.SubprocessError, IndexError, ValueError):
        return None


def _named_gpu() -> Machine | None:
    name = gpu_name()
    if name is None:
        return None
    return Machine(name)
