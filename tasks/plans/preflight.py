"""What a plan needs and this machine lacks, said before any work starts."""

import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from carryover.tasks.plans.endpoints import endpoint_lacks
from carryover.tasks.plans.estimate import estimate_study
from carryover.tasks.plans.spec import StudyPart, StudyPlan
from carryover.tasks.running.environment import gpu_name
from carryover.tasks.running.errors import UserError
from carryover.tasks.running.folders import HOME_VARIABLE, name_places
from carryover.tasks.running.limits import Prices
from carryover.tasks.serving.ask import Answer, ask
from carryover.tasks.serving.server import vllm_program

BYTES_OF_A_STUDY = 100_000_000
"""Room for a study of no episodes: Prefect's database, documents, logs, an empty warehouse and its copies."""
BYTES_PER_EPISODE = 100_000
"""Room for an episode of ten steps: landed, in the warehouse, in the readers' copy and in the copy to come."""


def check_needs(
    plan: StudyPlan,
    gpu_pool_lacks: Callable[[], str | None],
    *,
    trains_here: bool,
    find_gpu: Callable[[], str | None] = gpu_name,
    find_free: Callable[[Path], int] | None = None,
    hub_url: str | None = None,
) -> None:
    """Return when the plan can run here.

    Args:
        plan: The resolved plan.
        gpu_pool_lacks: Says what the work pool `gpu` lacks to take a training, or nothing; asked only where it matters.
        trains_here: Whether the training stays in this process, or is handed to that pool.
        find_gpu: Names this machine's GPU, if it has one.
        find_free: Tells the free bytes where a folder lies; the disk's own without it.
        hub_url: Where a model that is not here is looked for; where HF_ENDPOINT or the library says without it.

    Raises:
        UserError: Something is missing; one line names all of it.
    """
    needs = [*(_missing_gpu(plan, gpu_pool_lacks, find_gpu) if trains_here else _missing_pool(gpu_pool_lacks))]
    needs += _missing_gpu_to_serve(plan, find_gpu)
    needs += _missing_room(plan, name_places().home, find_free or free_bytes)
    needs += [need for part in plan.parts for need in _missing(plan, part, hub_url)]
    _refuse(plan, needs)


def check_teachers(plan: StudyPlan) -> None:
    """Return when every endpoint of a teacher answers, takes its key and knows its model.

    Raises:
        UserError: One does not; one line names all that is missing.
    """
    _refuse(plan, (need for part in plan.parts for need in _missing_teacher(part)))


def _refuse(plan: StudyPlan, needs: Iterable[str]) -> None:
    missing = list(dict.fromkeys(needs))
    if missing:
        raise UserError(f"{plan.name} scale needs what is not here: {'; '.join(missing)}")


def free_bytes(folder: Path) -> int:
    """Return the free bytes of the disk that a folder is on, or will be."""
    while not folder.exists():
        folder = folder.parent
    return shutil.disk_usage(folder).free


def _missing_gpu(
    plan: StudyPlan, gpu_pool_lacks: Callable[[], str | None], find_gpu: Callable[[], str | None]
) -> Iterator[str]:
    if not any(part.training.is_for_gpu for part in plan.parts) or find_gpu() is not None:
        return
    if gpu_pool_lacks() is None:
        yield "a GPU here, or --train-on gpu_pool, as a worker on the work pool 'gpu' is online"
    else:
        yield "a GPU, or an online worker on the work pool 'gpu' (and --train-on gpu_pool)"


def _missing_pool(gpu_pool_lacks: Callable[[], str | None]) -> Iterator[str]:
    """Yield what a training that is handed over would wait for, for ever."""
    if (lack := gpu_pool_lacks()) is not None:
        yield lack


def _missing_gpu_to_serve(plan: StudyPlan, find_gpu: Callable[[], str | None]) -> Iterator[str]:
    """Yield the GPU that the evaluation wants here, wherever the models are trained."""
    if plan.serving.engine == "vllm" and find_gpu() is None:
        yield "a GPU here for vllm to serve the models (or name a running server with --endpoint-url)"


def _missing_room(plan: StudyPlan, home: Path, find_free: Callable[[Path], int]) -> Iterator[str]:
    """Yield the room for episodes; a training looks after its own when it starts."""
    episodes = sum(row.episodes for row in estimate_study(plan, Prices(), concurrency=1))
    wanted, free = BYTES_OF_A_STUDY + episodes * BYTES_PER_EPISODE, find_free(home)
    if free < wanted:
        yield (
            f"about {wanted / 1e6:,.0f} MB of room for {episodes:,} episodes in {home}, which has {free / 1e6:,.0f} MB "
            f"(free some, or name another folder with {HOME_VARIABLE})"
        )


def _missing(plan: StudyPlan, part: StudyPart, hub_url: str | None) -> Iterator[str]:
    if part.training.base_model is not None:
        yield from _missing_model(part.training.base_model, part.training.base_revision, hub_url)
    if plan.serving.engine == "vllm" and vllm_program() is None:
        yield "vllm (sh deployments/install_vllm.sh, or name a running server with --endpoint-url)"
    if plan.serving.url is not None:
        # Which models it must serve is known when they are trained: `open_server` asks for them.
        yield from endpoint_lacks("the models'", plan.serving.url, plan.serving.api_key_variable)
    yield from _missing_teacher(part)


def _missing_teacher(part: StudyPart) -> Iterator[str]:
    endpoint = part.teacher.endpoint
    if endpoint is not None:
        yield from endpoint_lacks(
            "the teacher's", endpoint.base_url, endpoint.api_key_variable, part.teacher.model_name
        )


def _missing_model(model: str, revision: str | None, hub_url: str | None) -> Iterator[str]:
    """Yield what keeps a model from being loaded: it is no folder here, nor in the hub's cache, nor given by a hub."""
    from huggingface_hub import get_token, hf_hub_url, try_to_load_from_cache

    if Path(model).is_dir() or isinstance(try_to_load_from_cache(model, "config.json", revision=revision), str):
        return
    match ask(hf_hub_url(model, "config.json", revision=revision, endpoint=hub_url), get_token()):
        case Answer(status=200):
            return
        case Answer(error_code="GatedRepo"):
            yield f"access to the model {model} (accept its licence on the hub and set HF_TOKEN, or name a local copy)"
        case _:
            yield f"the model {model} (download it, or name its folder with --base-model)"
