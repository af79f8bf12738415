"""Whether a training fits on this machine: its memory, its disk, and the disk of the hub's cache."""

import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from carryover.tasks.running.errors import UserError
from carryover.tasks.sft.hub import cache_folder, explained, find_file
from carryover.tasks.sft.model_shape import ModelShape, shape_from_config, shape_of
from carryover.tasks.sft.resources import GIB, download_bytes, estimate_resources
from carryover.tasks.sft.spec import TrainingSpec

CGROUP_LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
"""Where a container finds the limit of its memory, in version 2 and 1 of control groups."""
_CPU_REFUSAL = "can't allocate memory"
"""What torch says, by an error of no kind of its own, where a machine has none left."""
_WAY_OUT_OF_MEMORY = "use a larger machine, or lower batch.max_length or batch.tokens"


def check_room(spec: TrainingSpec, source: str, output: Path, find_free: Callable[[Path], int] | None = None) -> None:
    """Do nothing where a training fits on this machine, or where the size of its model is not known.

    Args:
        spec: The training.
        source: What it starts from, a folder or hub id.
        output: Folder of the model.
        find_free: Tells the free bytes of the disk that a folder is on; the disk's own without it.

    Raises:
        UserError: The disk behind `output` or the hub's cache, the GPU's memory, or without a GPU the machine's, is too
            small; or the base is missing, gated or out of reach.
    """
    shape = find_shape(spec, source)
    if shape is None:
        return
    estimate = estimate_resources(spec, shape)
    output.mkdir(parents=True, exist_ok=True)
    find_free = find_free or (lambda folder: shutil.disk_usage(folder).free)
    if estimate.disk_bytes > (free := find_free(output)):
        raise UserError(
            f"training {spec.name} writes about {estimate.disk_bytes / GIB:.1f} GiB and {output} has "
            f"{free / GIB:.1f} GiB free; free some space or choose another folder"
        )
    _check_cache(source, download_bytes(spec, source, shape), (output, estimate.disk_bytes), find_free)
    memory, owner = _memory()
    if estimate.memory_bytes > memory:
        raise UserError(
            f"training {spec.name} takes about {estimate.memory_bytes / GIB:.1f} GiB of memory and {owner} has "
            f"{memory / GIB:.1f} GiB; {_WAY_OUT_OF_MEMORY}"
        )


@contextmanager
def telling_of_memory(spec: TrainingSpec) -> Iterator[None]:
    """Turn the end of a GPU's memory, or the machine's, into a `UserError`: what was checked before is an estimate."""
    import torch

    try:
        yield
    except (RuntimeError, MemoryError) as error:
        said = str(error).splitlines()[0] if str(error) else "no memory left"
        if not isinstance(error, (torch.OutOfMemoryError, MemoryError)) and _CPU_REFUSAL not in said:
            raise
        raise UserError(f"training {spec.name} ran out of memory: {said}; {_WAY_OUT_OF_MEMORY}") from error


def unknown_size(spec: TrainingSpec, source: str) -> str | None:
    """Return in a line that a training's room cannot be checked, or none where it can.

    Raises:
        UserError: The base is missing, gated or out of reach.
    """
    if find_shape(spec, source) is not None:
        return None
    return (
        f"the size of base model {source} is unknown, as its config.json is no Qwen3 model's: whether disk and memory "
        f"suffice for training {spec.name} is not checked"
    )


def find_shape(spec: TrainingSpec, source: str) -> ModelShape | None:
    """Return the shape of the model that a training starts from, from the hub's `config.json` where it must.

    Raises:
        UserError: The base is missing, gated or out of reach.
    """
    shape = shape_of(spec, source)
    if shape is not None:
        return shape
    with explained(source, "base model"):
        config = find_file(source, "config.json", spec.base_revision)
        return shape_from_config(json.loads(config.read_text(encoding="utf-8")))


def _check_cache(source: str, missing: int, written: tuple[Path, int], find_free: Callable[[Path], int]) -> None:
    """Raise `UserError` where a base's download does not fit beside what the training writes to the same disk."""
    if not missing:
        return
    cache = cache_folder()
    cache = next(each for each in (cache, *cache.parents) if each.exists())
    output, saved = written
    beside = saved if output.stat().st_dev == cache.stat().st_dev else 0
    if missing + beside > (free := find_free(cache)):
        more = f", the training {beside / GIB:.1f} GiB more on the same disk" if beside else ""
        raise UserError(
            f"the download of base model {source} takes about {missing / GIB:.1f} GiB{more}, and {cache} has "
            f"{free / GIB:.1f} GiB free; free some space, set HF_HOME to a folder on another disk or name a local copy"
        )


def _memory() -> tuple[int, str]:
    """Return the bytes that a training may take, free ones of a GPU, and whose they are."""
    import torch

    if torch.cuda.is_available():
        return torch.cuda.mem_get_info()[0], f"{torch.cuda.get_device_name(0)} (others' taken off)"
    physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return smallest_limit(physical, CGROUP_LIMITS), "this machine (no GPU)"


def smallest_limit(physical: int, files: Iterable[Path]) -> int:
    """Return the bytes that a process may take: the machine's, or a lower limit that a control group's file names."""
    words = [file.read_text(encoding="ascii").strip() for file in files if file.is_file()]
    return min([physical, *(int(word) for word in words if word.isdigit())])  # "max" is no limit
