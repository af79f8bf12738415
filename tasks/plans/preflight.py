"""Preflight: missing prerequisites, reported before any work starts."""

import json
import re
import shutil
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from urllib.parse import quote

from carryover.tasks.agent.credentials import find_key, place_of_key
from carryover.tasks.plans.estimate import estimate_study
from carryover.tasks.plans.models import trained_arms, training_name
from carryover.tasks.plans.run import Limits
from carryover.tasks.plans.serving_memory import largest_serving_need
from carryover.tasks.plans.study_plan import StudyPlan
from carryover.tasks.services.errors import UserError, first_line
from carryover.tasks.services.folders import HOME_VARIABLE, name_folders
from carryover.tasks.services.hub import expanded
from carryover.tasks.services.limits import Prices
from carryover.tasks.serving.ask import HttpAnswer, NoAnswer, ask
from carryover.tasks.serving.attention_kinds import partial_attention
from carryover.tasks.serving.server import vllm_program
from carryover.tasks.sft.machine import Machine, MachineNeed, lacks_of, this_machine, training_need
from carryover.tasks.sft.model_shape import find_config
from carryover.tasks.sft.resources import GIB, check_shares
from carryover.tasks.sft.training_spec import TrainingSpec

BYTES_OF_A_STUDY = 100_000_000
"""Room for a study of no episodes: Prefect's database, documents, logs, an empty warehouse and its copies."""
BYTES_PER_EPISODE = 100_000
"""Room for an episode of ten steps: landed, in the warehouse, in the readers' copy and in the copy to come."""
NAMED_MODELS = 5
"""Models of an endpoint that a complaint names."""

_WORKER_IS_ONLINE = ": a worker on the work pool 'gpu' has it, pass --train-on gpu_pool"
_WORKER_WOULD_DO = ": use such a machine, or a worker with it on the work pool 'gpu' and --train-on gpu_pool"
_NOBODY_BEHIND_GATEWAY = (502, 503, 504)
_BAD_KEY = re.compile(rb"(?i)api.?key")
"""Google's answer to a wrong key: status 400, with the key named."""


def check_needs(
    plan: StudyPlan,
    gpu_pool_lacks: Callable[[Sequence[MachineNeed]], str | None],
    *,
    trains_here: bool,
    limits: Limits = Limits(),  # noqa: B008 - frozen
    find_machine: Callable[[], Machine] = this_machine,
    find_free: Callable[[Path], int] | None = None,
    hub_url: str | None = None,
) -> None:
    """Raise `UserError` unless the plan can run here.

    One line names all that is missing. With `trains_here` its trainings stay in this process. `gpu_pool_lacks` says
    what the work pool `gpu` lacks of the trainings' needs under the `limits`. A model that is not here is looked for
    at `hub_url`, by default where HF_ENDPOINT or the library says.
    """
    for spec in plan.trainings:
        check_shares(spec, limits.gpus_per_training if spec.is_for_gpu else 1)
    here = find_machine()
    lacks = [
        _lack_of_trainings(training_needs(plan, limits), gpu_pool_lacks, here if trains_here else None),
        _lack_of_serving(plan, here),
        _lack_of_room(plan, name_folders().home, find_free or free_bytes),
    ]
    needs = [lack for lack in lacks if lack is not None]
    needs += _missing(plan, hub_url)
    _refuse(plan, needs)


def _lack_of_trainings(
    needs: Sequence[MachineNeed], gpu_pool_lacks: Callable[[Sequence[MachineNeed]], str | None], here: Machine | None
) -> str | None:
    """Return what this machine, or the pool, lacks to train."""
    if here is None:
        return gpu_pool_lacks(needs)  # the training would wait for it for ever
    lack = _lacks_here(needs, here)
    if lack is None:
        return None
    has_worker = gpu_pool_lacks(needs) is None
    return lack + (_WORKER_IS_ONLINE if has_worker else _WORKER_WOULD_DO)


def _lack_of_serving(plan: StudyPlan, here: Machine) -> str | None:
    if plan.serving.engine in ("gpu", "vllm") and here.gpu is None:
        return (
            f"a GPU here for the engine {plan.serving.engine} to serve the models (or name a running server with "
            "--endpoint-url)"
        )
    need = largest_serving_need(plan)
    room = _room_for_serving(plan, here)
    if need is None or room is None or need.memory_bytes <= room:
        return None
    return (
        f"{need.memory_bytes / GIB:.1f} GiB of memory to serve the {need.model_count} models of part {need.part}, "
        f"where this machine ({here}) has {room / GIB:.1f} GiB for them (train fewer seeds at a time with "
        "--training-seeds, or name a running server with --endpoint-url)"
    )


def _room_for_serving(plan: StudyPlan, here: Machine) -> int | None:
    """Return the bytes that a server may take, or None if unknown."""
    is_on_gpu = plan.serving.engine in ("gpu", "vllm")
    memory = here.memory_for(on_gpu=is_on_gpu)
    if memory is None or not is_on_gpu:
        return memory
    return int(memory * plan.serving.gpu_memory_share) * plan.serving.tensor_parallel


def _lack_of_room(plan: StudyPlan, home: Path, find_free: Callable[[Path], int]) -> str | None:
    """Return the room that the episodes lack.

    A training looks after its own when it starts.
    """
    episodes = sum(row.episodes for row in estimate_study(plan, Prices(), concurrency=1))
    wanted = BYTES_OF_A_STUDY + episodes * BYTES_PER_EPISODE
    free = find_free(home)
    if free >= wanted:
        return None
    return (
        f"about {wanted / 1e6:,.0f} MB of room for {episodes:,} episodes in {home}, which has {free / 1e6:,.0f} MB "
        f"(free some, or name another folder with {HOME_VARIABLE})"
    )


def training_needs(plan: StudyPlan, limits: Limits) -> list[MachineNeed]:
    """Return what a plan's trainings need, the most memory first."""
    names: defaultdict[TrainingSpec, set[str]] = defaultdict(set)
    for part in plan.parts:
        names[part.training] |= {training_name(part, contract, seed) for contract, seed in trained_arms(part)}
        if part.own_base is not None:
            names[part.own_base.training].add(training_name(part, None, part.own_base.seed))
    needs = {_need_at_once(spec, len(trainings), limits) for spec, trainings in names.items()}
    return sorted(needs, key=lambda need: (need.has_gpu, need.memory_bytes or 0, need.training), reverse=True)


def _need_at_once(spec: TrainingSpec, training_count: int, limits: Limits) -> MachineNeed:
    """Return what a training needs, with those that may share its GPU."""
    if not spec.is_for_gpu:
        return training_need(spec)
    need = training_need(spec, limits.gpus_per_training)
    return need.shared_by(min(training_count, limits.trainings_per_gpu))


def check_machine(plan: StudyPlan, limits: Limits, find_machine: Callable[[], Machine] = this_machine) -> None:
    """Raise `UserError` unless this machine has what the plan's trainings need."""
    lack = _lacks_here(training_needs(plan, limits), find_machine())
    _refuse(plan, [] if lack is None else [lack])


def _lacks_here(needs: Sequence[MachineNeed], here: Machine) -> str | None:
    return lacks_of(needs, {f"this machine ({here})": here})


def check_teachers(plan: StudyPlan) -> None:
    """Raise `UserError` unless every teacher's endpoint knows its model.

    It must answer and take its key.
    """
    _refuse(plan, _missing_teachers(plan))


def _refuse(plan: StudyPlan, needs: Iterable[str]) -> None:
    if missing := dict.fromkeys(needs):
        raise UserError(f"plan {plan.name} cannot start; missing: {'; '.join(missing)}")


def free_bytes(folder: Path) -> int:
    """Return the free bytes of a folder's disk."""
    while not folder.exists():
        folder = folder.parent
    return shutil.disk_usage(folder).free


def _missing(plan: StudyPlan, hub_url: str | None) -> Iterator[str]:
    """Yield what a plan lacks of models, programs and endpoints; parts that share one ask once."""
    trainings = [part.training for part in plan.parts]
    for model, revision in dict.fromkeys((each.base_model, each.base_revision) for each in trainings):
        if model is not None:
            yield from _missing_model(model, revision, hub_url)
            yield from _missing_engine(plan.serving.engine, model, revision)
    if plan.serving.engine == "vllm" and vllm_program() is None:
        yield "vllm (sh deployments/install_vllm.sh, or name a running server with --endpoint-url)"
    if plan.serving.url is not None:
        # Which models it must serve is known when they are trained: `open_server` asks for them.
        yield from endpoint_lacks("the models'", plan.serving.url, plan.serving.api_key_variable)
    yield from _missing_teachers(plan)


def _missing_teachers(plan: StudyPlan) -> Iterator[str]:
    asked: dict[tuple[str, str | None, str], None] = {}
    for teacher in (part.teacher for part in plan.parts):
        if teacher.endpoint is not None:
            asked[teacher.endpoint.base_url, teacher.endpoint.api_key_variable, teacher.model_name] = None
    for base_url, key_variable, model in asked:
        yield from endpoint_lacks("the teacher's", base_url, key_variable, model)


def _missing_model(model: str, revision: str | None, hub_url: str | None) -> Iterator[str]:
    """Yield why a model cannot be loaded.

    It is no folder here, nor in the hub's cache, nor given by a hub.
    """
    from huggingface_hub import get_token, hf_hub_url, try_to_load_from_cache

    if Path(model).is_dir():
        return
    cached = try_to_load_from_cache(model, "config.json", revision=revision)
    if isinstance(cached, str):
        if revision is None:
            yield f"a commit of the model {model} (--base-revision, e.g. {Path(cached).parent.name}, which is here)"
        return
    match ask(hf_hub_url(model, "config.json", revision=revision, endpoint=hub_url), get_token()):
        case HttpAnswer(status=200):
            if revision is None:
                yield f"a commit of the model {model} (--base-revision)"
        case HttpAnswer(error_code="GatedRepo"):
            yield f"access to the model {model} (accept its licence on the hub and set HF_TOKEN, or name a local copy)"
        case _:
            yield f"the model {model} (download it, or name its folder with --base-model)"


def _missing_engine(engine: str, model: str, revision: str | None) -> Iterator[str]:
    """Yield why our own engines could not serve what is trained from a base."""
    if engine not in ("cpu", "gpu"):
        return
    config = find_config(expanded(model), revision)
    if config is None:
        return
    from transformers import AutoConfig

    try:
        layers = partial_attention(AutoConfig.from_pretrained(config.parent, trust_remote_code=False))
    except ValueError as error:
        yield f"a model that the installed transformers knows, where {model} is none ({first_line(error)})"
        return
    if layers is not None:
        yield (
            f"an engine for {model}: it has {layers}, and the engine {engine} serves full attention only "
            "(--engine vllm on a GPU, or name a running server with --endpoint-url)"
        )


def endpoint_lacks(whose: str, base_url: str, key_variable: str | None, model: str | None = None) -> list[str]:
    """Return what an endpoint lacks, in words.

    `whose` says who is reached there, e.g. `the teacher's`; `model` is a name that it must know.
    """
    key = None if key_variable is None else find_key(key_variable)
    answer = ask(_models_address(base_url), key or None)
    lacks = []
    if key_variable is not None and not key:
        lacks.append(f"{whose} key in {place_of_key(key_variable)}")
    if isinstance(answer, NoAnswer):
        return [*lacks, f"an answer from {whose} endpoint {base_url} ({answer.reason})"]
    if answer.status in _NOBODY_BEHIND_GATEWAY:
        return [*lacks, f"an answer from {whose} endpoint {base_url} (HTTP {answer.status})"]
    if lacks:
        return lacks
    if _refuses_key(answer):
        return [f"{whose} key: {base_url} answers HTTP {answer.status} {_shown_key(key_variable)}"]
    if model is None:
        return []
    return _lacks_model(whose, base_url, key, model, _listed_models(answer))


def _shown_key(key_variable: str | None) -> str:
    if key_variable is None:
        return "without one"
    return f"to the one in {place_of_key(key_variable)}"


def _lacks_model(whose: str, base_url: str, key: str | None, model: str, names: Sequence[str]) -> list[str]:
    if not names or model in names or _knows_model(base_url, model, key):
        return []
    others = ", ".join(names[:NAMED_MODELS]) + (", ..." if len(names) > NAMED_MODELS else "")
    return [f"{whose} model {model!r} at {base_url}, which has {others}"]


def _models_address(base_url: str) -> str:
    return f"{base_url.rstrip('/')}/models"


def _refuses_key(answer: HttpAnswer) -> bool:
    is_unauthorized = answer.status in (401, 403)
    return is_unauthorized or (answer.status == 400 and _BAD_KEY.search(answer.body) is not None)


def _listed_models(answer: HttpAnswer) -> list[str]:
    """Return an endpoint's models, without Google's prefix.

    Requests leave that prefix out.
    """
    try:
        return [str(each["id"]).removeprefix("models/") for each in json.loads(answer.body)["data"]]
    except (ValueError, KeyError, TypeError):
        return []


def _knows_model(base_url: str, model: str, key: str | None) -> bool:
    """Ask for a model by name.

    An alias is not listed and can be asked for all the same.
    """
    answer = ask(f"{_models_address(base_url)}/{quote(model)}", key)
    return isinstance(answer, HttpAnswer) and answer.status == 200
