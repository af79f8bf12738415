"""Places of trainings on a machine's GPUs."""

import glob
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from itertools import product
from pathlib import Path

from carryover.tasks.services.errors import UserError
from carryover.tasks.services.whole_files import file_lock, file_lock_when_free
from carryover.tasks.sft.child_process import POLL_SECONDS


@contextmanager
def borrowed_gpus(
    gpus: Sequence[str], count: int, folder: Path, check: Callable[[], None], *, trainings_per_gpu: int = 1
) -> Iterator[list[str]]:
    """Wait for `count` GPUs with a free place and keep them for the block.

    A GPU has `trainings_per_gpu` places, for trainings that share it by the same number alone. A lock file per place in
    `folder` decides, so that runs in other processes of the machine count too. What it waits for is printed once. Raise
    `UserError` where there are fewer GPUs.
    """
    if count > len(gpus):
        raise UserError(f"--gpus-per-training is {count} and this machine has {len(gpus)} GPUs; lower it")
    is_told = False
    while True:
        with ExitStack() as locks:
            with file_lock_when_free(folder / "carryover-gpus.lock", lambda _: check()):
                borrowed = _take_places(gpus, count, folder, trainings_per_gpu, locks)
            if len(borrowed) == count:
                yield borrowed
                return
        if not is_told:
            print(f"waiting for {count} of the GPUs {', '.join(gpus)}: trainings of another run hold them", flush=True)
            is_told = True
        check()
        time.sleep(POLL_SECONDS)


def _take_places(gpus: Sequence[str], count: int, folder: Path, trainings_per_gpu: int, locks: ExitStack) -> list[str]:
    """Return up to `count` GPUs, a place on each locked."""
    borrowed: list[str] = []
    ours = [gpu for gpu in gpus if not _is_shared_otherwise(gpu, folder, trainings_per_gpu)]
    for place, gpu in product(range(trainings_per_gpu), ours):
        if len(borrowed) == count:
            break
        name = f"carryover-gpu-{gpu}-{place}-of-{trainings_per_gpu}.lock"
        if gpu not in borrowed and locks.enter_context(file_lock(folder / name)) is None:
            borrowed.append(gpu)
    return borrowed


def _is_shared_otherwise(gpu: str, folder: Path, trainings_per_gpu: int) -> bool:
    """Tell whether a GPU has a training with another number of trainings per GPU."""
    places = folder.glob(f"carryover-gpu-{glob.escape(gpu)}-*-of-*.lock")
    return any(_is_held(each) for each in places if not each.name.endswith(f"-of-{trainings_per_gpu}.lock"))


def _is_held(lock: Path) -> bool:
    with file_lock(lock) as holder:
        return holder is not None


def visible_gpus(variables: Mapping[str, str]) -> list[str]:
    """Return the GPUs that this process may use, by number or identifier."""
    if (named := variables.get("CUDA_VISIBLE_DEVICES")) is not None:
        return [each.strip() for each in named.split(",") if each.strip()]
    import torch

    return [str(number) for number in range(torch.cuda.device_count())]
