"""A plan with the fields that a caller changes."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from carryover.tasks.agent.episode_spec import EndpointSpec
from carryover.tasks.datasets.dataset_spec import ValidationSpec
from carryover.tasks.knapsack.teachers.habits import VARIED
from carryover.tasks.plans.choose_contract import choose_contracts
from carryover.tasks.plans.in_family import in_family
from carryover.tasks.plans.overrides import Overrides
from carryover.tasks.plans.presets import PLANS
from carryover.tasks.plans.pretrained import (
    in_bucket,
    on_cpu,
    on_gpu,
    serving_by,
    serving_on,
    with_context,
    with_episodes,
)
from carryover.tasks.plans.study_plan import EvaluationSpec, OwnBaseSpec, StudyPart, StudyPlan, TeacherSpec
from carryover.tasks.runtime.contract import Contract, is_described
from carryover.tasks.services.errors import UserError
from carryover.tasks.serving.serving_spec import SERVED_RANKS, ServingSpec
from carryover.tasks.sft.training_spec import BatchSpec, TrainingSpec
from carryover.tasks.traces.vocabulary import PAPER_FAMILY

_OF_A_BASE = {"base_model", "base_revision", "engine", "method", "precision", "chat_template", "lora_rank"}
"""Overrides of a training that adapts a pretrained model."""
_OF_A_TRAINING = {
    "base_model", "base_revision", "method", "precision", "chat_template", "epochs", "attention",
    "gradient_checkpointing", "cpu_threads",
}  # fmt: skip
"""Overrides that are fields of a training by the same name."""
Spec = TypeVar("Spec", bound=BaseModel)


def apply_overrides(plan: StudyPlan, overrides: Overrides) -> StudyPlan:
    """Return the plan with overrides applied.

    Raise `UserError` if one changes nothing or makes no valid plan.
    """
    chosen = _chosen_parts(plan, overrides.parts)
    contracts = choose_contracts((*(overrides.contracts or ()), *(overrides.runtime_contracts or ())))
    parts = tuple(_changed_part(part, overrides, contracts) for part in chosen)
    own = chain.from_iterable(part.own_contracts for part in parts)
    changed = _with(
        plan,
        runtime=_with(plan.runtime.for_contracts(own), backend=overrides.backend),
        serving=_changed_serving(plan, overrides),
        parts=parts,
    )
    try:
        return StudyPlan.model_validate(changed.model_dump())  # copies are held against no validator
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise UserError(f"invalid overrides for {place or plan.name}: {first['msg']}") from error


def _chosen_parts(plan: StudyPlan, names: tuple[str, ...] | None) -> list[StudyPart]:
    """Return the named parts in the plan's order, or all."""
    if names is None:
        return list(plan.parts)
    known = [part.name for part in plan.parts]
    for name in names:
        if name not in known:
            raise UserError(f"plan {plan.name} has no part {name!r}; choose from {', '.join(known)}")
    return [part for part in plan.parts if part.name in names]


def _changed_serving(plan: StudyPlan, overrides: Overrides) -> ServingSpec:
    serving = plan.serving
    if overrides.device is not None and all(part.training.base == "hub" for part in plan.parts):
        serving = serving_on(overrides.device)
    if overrides.engine is not None:
        serving = serving_by(overrides.engine)
    if overrides.lora_rank is not None:
        serving = _with(serving, max_lora_rank=_served_rank(overrides.lora_rank))
    serving = _with(
        serving,
        max_concurrent=overrides.concurrency,
        cpu_threads=overrides.cpu_threads,
        gpu_memory_share=overrides.gpu_memory_share,
        context_tokens=overrides.context_tokens,
    )
    if overrides.endpoint_url is not None:
        return serving.elsewhere(overrides.endpoint_url, overrides.endpoint_key_variable)
    if overrides.endpoint_key_variable is not None:
        raise UserError("endpoint_key_variable requires endpoint_url")
    return serving


def _pretrained_plans() -> list[str]:
    return [name for name, plan in PLANS.items() if all(part.training.base == "hub" for part in plan("").parts)]


def _with(spec: Spec, **changes: Any) -> Spec:
    """Return a spec with the changes that are given; `None` changes nothing."""
    return spec.model_copy(update={name: value for name, value in changes.items() if value is not None})


def _refuse_knapsack_options(overrides: Overrides) -> None:
    """Raise `UserError` for an override that another family has no use for."""
    for field in ("bucket", "teacher_habits"):
        value = getattr(overrides, field)
        if value is not None:
            option = f"--{field.replace('_', '-')}"
            raise UserError(f"{option} {value} is about the knapsack; leave it out with --family {overrides.family}")


def _with_contracts(part: StudyPart, overrides: Overrides, contracts: Mapping[str, Contract]) -> StudyPart:
    """Return the part under other contracts, of training or runtime.

    `contracts` are those of the overrides, by what the user wrote.
    """
    of_training = overrides.contracts or ()
    of_runtime = overrides.runtime_contracts or of_training
    if not of_runtime:
        return part
    played = _names(contracts, of_runtime)
    own = dict.fromkeys(contract for contract in contracts.values() if not is_described(contract))
    changes: dict[str, Any] = {
        "evaluations": tuple(each.model_copy(update={"runtime_contracts": played}) for each in part.evaluations),
        "own_contracts": tuple(own),
    }
    if of_training:
        trained = _names(contracts, of_training)
        changes["teacher"] = part.teacher.model_copy(update={"contracts": trained})
    return part.model_copy(update=changes)


def _names(contracts: Mapping[str, Contract], wanted: Iterable[str]) -> tuple[str, ...]:
    """Return the names of wanted contracts, each once."""
    return tuple(dict.fromkeys(contracts[each].name for each in wanted))


def _changed_part(part: StudyPart, overrides: Overrides, contracts: Mapping[str, Contract]) -> StudyPart:
    part = _with_contracts(part, overrides, contracts)
    if overrides.family not in (None, PAPER_FAMILY):
        _refuse_knapsack_options(overrides)
        part = in_family(part, overrides.family, has_endpoint=overrides.teacher_url is not None)
    part = _with_instances(part, overrides)
    dataset = overrides.model_dump(include={"text_format", "retention", "matching"})
    validation = overrides.model_dump(include=set(ValidationSpec.model_fields))
    changed = _with(
        part,
        validation=_with(part.validation, **validation),
        teacher=_changed_teacher(part.teacher, overrides),
        dataset=_with(part.dataset, **dataset),
        training=_changed_training(part.training, overrides),
        own_base=_changed_base(part.own_base, overrides),
        training_seeds=overrides.training_seeds,
        evaluations=_varied(part, overrides),
    )
    _check_scripted(changed)
    if overrides.context_tokens is None:
        return changed
    return with_context(changed, overrides.context_tokens)


def _changed_teacher(teacher: TeacherSpec, overrides: Overrides) -> TeacherSpec:
    """Return the teacher with overrides.

    Raise `UserError` for an endpoint's setting without an endpoint.
    """
    if overrides.teacher_url is not None:
        # Another endpoint may refuse fields that the standard lacks, such as those for a chat template.
        endpoint = EndpointSpec(base_url=overrides.teacher_url, extra_body={})
        teacher = teacher.model_copy(update={"kind": "endpoint", "endpoint": endpoint, "habits": None})
    if teacher.endpoint is not None:
        key = overrides.teacher_key_variable
        endpoint = _with(teacher.endpoint, api_key_variable=key, concurrency=overrides.concurrency)
        teacher = _with(teacher, endpoint=endpoint, model_name=overrides.teacher_model)
    elif overrides.teacher_key_variable is not None:
        raise UserError("teacher_key_variable requires teacher_url")
    elif overrides.teacher_model is not None:
        raise UserError("teacher_model requires teacher_url")
    match overrides.teacher_habits:
        case "varied":
            teacher = teacher.model_copy(update={"habits": VARIED})
        case "fixed":
            teacher = teacher.model_copy(update={"habits": None})
    return _with(teacher, maximum_attempts=overrides.teacher_attempts)


def _check_scripted(part: StudyPart) -> None:
    """Raise `UserError` where no scripted teacher reads the part's prompts."""
    is_scripted = part.teacher.kind == "scripted"
    is_compact = part.teacher.episode.prompt_set == "compact"
    is_knapsack = part.train_instances.family == PAPER_FAMILY
    if is_knapsack and is_scripted and is_compact and part.train_instances.bucket == "easy":
        raise UserError("no scripted teacher plays easy instances with compact prompts; choose bucket small")


def _with_instances(part: StudyPart, overrides: Overrides) -> StudyPart:
    """Return the part on other instances, played by other rules."""
    if overrides.bucket is not None:
        part = in_bucket(part, overrides.bucket)
    part = with_episodes(
        part,
        prompt_set=overrides.prompt_set,
        max_turns=overrides.max_turns,
        max_completion_tokens=overrides.max_completion_tokens,
    )
    evaluations = []
    for each in part.evaluations:
        instances = _with(each.instances, count=overrides.evaluation_count, first_seed=overrides.evaluation_first_seed)
        evaluations.append(_with(each, instances=instances))
    trained = _with(part.train_instances, count=overrides.train_count)
    return _with(part, train_instances=trained, evaluations=tuple(evaluations))


def _changed_training(training: TrainingSpec, overrides: Overrides) -> TrainingSpec:
    """Return the training with overrides.

    Raise `UserError` for one that changes nothing here.
    """
    of_base = overrides.model_dump(include=_OF_A_BASE, exclude_none=True)
    if overrides.device == "cpu":  # where every other plan trains anyway
        of_base["device"] = "cpu"
    if of_base and training.base != "hub":
        field, value = next(iter(of_base.items()))
        option = f"--{field.replace('_', '-')}"
        raise UserError(
            f"{option} {value} changes nothing: this plan trains from base {training.base!r}; "
            f"plans that adapt a pretrained model are {', '.join(_pretrained_plans())}"
        )
    if overrides.base_model is not None:
        training = training.model_copy(update={"base_revision": None})
    if overrides.device == "cpu":
        training = on_cpu(training)
    if overrides.lora_rank is not None:
        assert training.lora is not None  # a hub base is adapted
        lora = _with(training.lora, rank=overrides.lora_rank, alpha=2 * overrides.lora_rank)
        training = _with(training, lora=lora)
    named = overrides.model_dump(include=_OF_A_TRAINING, exclude_none=True)
    changed = _with(
        training,
        **named,
        optimizer=_with(training.optimizer, learning_rate=overrides.learning_rate),
        batch=_changed_batch(training.batch, overrides),
    )
    return on_gpu(changed) if overrides.device == "gpu" else changed


def _changed_base(base: OwnBaseSpec | None, overrides: Overrides) -> OwnBaseSpec | None:
    """Return the base that a part trains itself, on the device of the part's models."""
    if base is None or overrides.device is None:
        return base
    return _with(base, training=on_gpu(base.training))


def _changed_batch(batch: BatchSpec, overrides: Overrides) -> BatchSpec:
    """Return the batch with overrides; raise `UserError` for tokens of a pass where packing decides."""
    batch = _with(batch, packing=overrides.packing, accumulation=overrides.accumulation)
    if overrides.pass_tokens is not None and batch.packing:
        raise UserError(
            f"--pass-tokens {overrides.pass_tokens} changes nothing: packed sequences fill a pass; add --no-packing"
        )
    return _with(batch, tokens=overrides.pass_tokens)


def _served_rank(rank: int) -> int:
    """Return vLLM's smallest rank for adapters of `rank`."""
    return next((each for each in SERVED_RANKS if each >= rank), SERVED_RANKS[-1])


def _varied(part: StudyPart, overrides: Overrides) -> tuple[EvaluationSpec, ...]:
    """Return the evaluations under every level of both factors."""
    varied: list[EvaluationSpec] = []
    for evaluation in part.evaluations:
        for capped in _vary(part, evaluation, "tool_call_cap", "cap", overrides.tool_call_caps):
            varied += _vary(part, capped, "stateless_scope", "scope", overrides.stateless_scopes)
    return tuple(varied)


def _vary(
    part: StudyPart, evaluation: EvaluationSpec, field: str, word: str, levels: tuple[int | str, ...] | None
) -> Iterator[EvaluationSpec]:
    """Yield the evaluation, varied by each level of a factor.

    The first level stays in its place, every further one is a variant.
    """
    if levels is None:
        yield evaluation
        return
    own = evaluation.variant or part.variant
    prefix = "" if own == "main" else f"{own}-"
    for place, level in enumerate(levels):
        episode = evaluation.episode.model_copy(update={field: None if level == "none" else level})
        variant = evaluation.variant if place == 0 else f"{prefix}{word}-{level}"
        yield evaluation.model_copy(update={"episode": episode, "variant": variant})
