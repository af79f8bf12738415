"""The few fields of a plan that a caller may change."""

from collections.abc import Iterator
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, field_validator

from carryover.tasks.agent.credentials import PlainAddress
from carryover.tasks.agent.episode_spec import EndpointSpec, PromptSet
from carryover.tasks.datasets.dataset_spec import ValidationSpec
from carryover.tasks.plans.presets import PLANS
from carryover.tasks.plans.pretrained import (
    PretrainedBucket,
    in_bucket,
    on_device,
    serving_on,
    with_context,
    with_episodes,
)
from carryover.tasks.plans.study_plan import EvaluationSpec, StudyPart, StudyPlan
from carryover.tasks.runtime.contract import Scope
from carryover.tasks.services.errors import UserError
from carryover.tasks.services.frozen_model import FrozenModel, needs
from carryover.tasks.services.hub import expanded
from carryover.tasks.serving.serving_spec import SERVED_RANKS
from carryover.tasks.sft.training_spec import Attention, Device, TrainingSpec
from carryover.tasks.traces.vocabulary import Backend, ContractName, Matching, Retention, TextFormat


def _name_known_parts(schema: dict[str, Any]) -> None:
    names = dict.fromkeys(part.name for plan in PLANS.values() for part in plan("").parts)
    schema["anyOf"][0]["items"] = {"enum": list(names)}


_OF_A_BASE = {"base_model", "base_revision", "device", "method", "precision", "chat_template", "lora_rank"}
"""Overrides of a training that adapts a pretrained model."""
_OF_A_TRAINING = {
    "base_model", "base_revision", "method", "precision", "chat_template", "epochs", "attention",
    "gradient_checkpointing", "cpu_threads",
}  # fmt: skip
"""Overrides that are fields of a training by the same name."""
Spec = TypeVar("Spec", bound=BaseModel)
ToolCallCap = Annotated[int, Field(ge=1)] | Literal["none"]
"""A level of the factor; `none` is no cap."""


class Overrides(FrozenModel):
    """Fields of a plan that a caller may change; what is not given stays as the plan has it."""

    model_config = ConfigDict(json_schema_extra={"dependentSchemas": needs("endpoint_key_variable", "endpoint_url")})

    parts: tuple[str, ...] | None = Field(
        default=None,
        min_length=1,
        description="Run only these parts; the selection is a plan with a digest of its own.",
        json_schema_extra=_name_known_parts,
    )
    train_count: int | None = Field(default=None, ge=1, description="Training instances, played under each contract.")
    evaluation_count: int | None = Field(default=None, ge=1, description="Evaluation instances per cell.")
    training_seeds: tuple[int, ...] | None = Field(
        default=None, min_length=1, description="One model per contract and seed."
    )
    contracts: tuple[ContractName, ...] | None = Field(
        default=None,
        min_length=1,
        description="Contracts that models are trained on and play under, e.g. persistent alone for a trial.",
    )
    tool_call_caps: tuple[ToolCallCap, ...] | None = Field(
        default=None,
        min_length=1,
        description="Tool calls allowed per turn at evaluation, e.g. 25,80,none; the first is the study's own, every "
        "further one is played beside it as the variant cap-80, cap-none.",
    )
    stateless_scopes: tuple[Scope, ...] | None = Field(
        default=None,
        min_length=1,
        description="What ends with a stateless block at evaluation: its process, or its user names (namespace); the "
        "first is the study's own, every further one is played beside it as the variant scope-namespace.",
    )
    backend: Backend | None = Field(default=None, description="Interpreter of the episodes.")
    concurrency: int | None = Field(
        default=None, ge=1, description="Episodes at a time, of an endpoint's teacher and of models alike."
    )
    teacher_url: PlainAddress | None = Field(default=None, description="OpenAI-compatible endpoint of the teacher.")
    teacher_model: str | None = Field(default=None, description="Name under which that endpoint knows the teacher.")
    teacher_key_variable: str | None = Field(
        default=None, description="Environment variable with the teacher's key, or secret/NAME for a Secret block."
    )
    teacher_attempts: int | None = Field(
        default=None,
        ge=1,
        description="Give up a teacher's episode after this many failed attempts and train without it; attempts at an "
        "endpoint that was down do not count. By default it is played again on every start.",
    )
    base_model: Annotated[str, AfterValidator(expanded)] | None = Field(
        default=None, description="Folder or hub id of the base model."
    )
    base_revision: str | None = Field(default=None, description="Commit of the base model's repository on the hub.")
    bucket: PretrainedBucket | None = Field(
        default=None, description="Instances of training and evaluation: the paper's easy ones, or small ones."
    )
    evaluation_first_seed: int | None = Field(
        default=None,
        ge=0,
        description="First seed of the evaluation's instances; trials use others than those that are reported.",
    )
    prompt_set: PromptSet | None = Field(
        default=None, description="Prompts with demonstrations as the paper's, or compact ones of a few lines."
    )
    max_turns: int | None = Field(default=None, ge=1, description="Replies before an episode ends with max_turns.")
    max_completion_tokens: int | None = Field(default=None, ge=1, description="Most tokens of a model's reply.")
    device: Device | None = Field(
        default=None,
        description="Where a pretrained model trains and is served: gpu with QLoRA and vLLM, cpu with LoRA.",
    )
    method: Literal["lora", "qlora"] | None = Field(
        default=None, description="Adapters on the base as it is, or on one quantized to 4 bits."
    )
    precision: Literal["bfloat16", "float32"] | None = Field(
        default=None, description="Number format of training, beside quantized weights."
    )
    chat_template: Literal["chatml", "qwen3"] | None = Field(
        default=None, description="A template of ours in place of the base's own, where that cannot train."
    )
    epochs: float | None = Field(default=None, gt=0, description="Passes over the training data.")
    learning_rate: float | None = Field(default=None, gt=0, description="Peak learning rate of AdamW.")
    lora_rank: int | None = Field(default=None, gt=0, description="Rank of the adapters; alpha is twice the rank.")
    context_tokens: int | None = Field(
        default=None,
        gt=0,
        description="Longest training sequence and served conversation; default: the base's positions.",
    )
    pass_tokens: int | None = Field(default=None, gt=0, description="Padded tokens of a forward pass without packing.")
    accumulation: int | None = Field(default=None, gt=0, description="Forward passes per optimizer step.")
    gradient_checkpointing: bool | None = Field(
        default=None, description="Recompute activations in the backward pass: less memory, a third more work."
    )
    cpu_threads: int | None = Field(default=None, gt=0, description="Threads of each training and server on a CPU.")
    gpu_memory_share: float | None = Field(
        default=None, gt=0, le=1, description="Share of the GPU's memory that vLLM may take."
    )
    attention: Attention | None = Field(default=None, description="Implementation of attention in training.")
    text_format: TextFormat | None = Field(default=None, description="Training text: the paper's, or what was sent.")
    retention: Retention | None = Field(default=None, description="Traces kept: first valid ones, or pairs.")
    matching: Matching | None = Field(
        default=None, description="Match the training sets by number of episodes or of tokens."
    )
    minimum_score: float | None = Field(
        default=None, ge=0, le=1, description="Data checks: lowest score of a trace that is trained on."
    )
    maximum_error_density: float | None = Field(
        default=None,
        ge=0,
        le=1,
        description="Data checks: largest share of steps that may end with an error.",
    )
    maximum_loop_similarity: float | None = Field(
        default=None, ge=0, le=1, description="Data checks: a trace whose last texts are more alike is a loop."
    )
    minimum_yield: float | None = Field(
        default=None, ge=0, le=1, description="Data checks: share of valid traces below which nothing is trained."
    )
    endpoint_url: PlainAddress | None = Field(
        default=None, description="Endpoint that already serves the trained models."
    )
    endpoint_key_variable: str | None = Field(
        default=None, description="Environment variable with its key, or secret/NAME for a Secret block."
    )

    @field_validator("parts", "training_seeds", "contracts", "tool_call_caps", "stateless_scopes")
    @classmethod
    def _values_differ(cls, values: tuple[int | str, ...] | None) -> tuple[int | str, ...] | None:
        if values is not None and (repeated := [value for value in values if values.count(value) > 1]):
            raise ValueError(f"{repeated[0]} is named twice; name each once")
        return values


def apply_overrides(plan: StudyPlan, overrides: Overrides) -> StudyPlan:
    """Return the plan with overrides applied; raise `UserError` if one changes nothing or makes no valid plan."""
    serving = _with(
        plan.serving if overrides.device is None else serving_on(overrides.device),
        max_concurrent=overrides.concurrency,
        cpu_threads=overrides.cpu_threads,
        gpu_memory_share=overrides.gpu_memory_share,
        max_lora_rank=overrides.lora_rank and _served_rank(overrides.lora_rank),
        context_tokens=overrides.context_tokens,
    )
    if overrides.endpoint_url is not None:
        serving = serving.elsewhere(overrides.endpoint_url, overrides.endpoint_key_variable)
    elif overrides.endpoint_key_variable is not None:
        raise UserError("endpoint_key_variable requires endpoint_url")
    known = {part.name: part for part in plan.parts}
    for name in overrides.parts or ():
        if name not in known:
            raise UserError(f"plan {plan.name} has no part {name!r}; choose from {', '.join(known)}")
    chosen = known if overrides.parts is None else overrides.parts
    parts = tuple(_apply_to_part(part, overrides) for part in plan.parts if part.name in chosen)
    changed = _with(plan, runtime=_with(plan.runtime, backend=overrides.backend), serving=serving, parts=parts)
    try:
        return StudyPlan.model_validate(changed.model_dump())  # copies are held against no validator
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise UserError(f"invalid overrides for {place or plan.name}: {first['msg']}") from error


def _pretrained_plans() -> list[str]:
    return [name for name, plan in PLANS.items() if all(part.training.base == "hub" for part in plan("").parts)]


def _with(spec: Spec, **changes: Any) -> Spec:
    """Return a spec with the changes that are given; `None` changes nothing."""
    return spec.model_copy(update={name: value for name, value in changes.items() if value is not None})


def _apply_to_part(part: StudyPart, overrides: Overrides) -> StudyPart:
    part = _with_instances(part, overrides)
    teacher = part.teacher
    if overrides.teacher_url is not None:
        # Another endpoint may refuse fields that the standard lacks, such as those for a chat template.
        endpoint = EndpointSpec(base_url=overrides.teacher_url, extra_body={})
        teacher = _with(teacher, kind="endpoint", endpoint=endpoint)
    if teacher.endpoint is not None:
        key = overrides.teacher_key_variable
        endpoint = _with(teacher.endpoint, api_key_variable=key, concurrency=overrides.concurrency)
        teacher = _with(teacher, endpoint=endpoint, model_name=overrides.teacher_model)
    elif overrides.teacher_key_variable is not None:
        raise UserError("teacher_key_variable requires teacher_url")
    elif overrides.teacher_model is not None:
        raise UserError("teacher_model requires teacher_url")
    if teacher.endpoint is None and part.train_instances.bucket == "easy" and teacher.episode.prompt_set == "compact":
        raise UserError("no scripted teacher plays easy instances with compact prompts; choose bucket small")
    dataset = overrides.model_dump(include={"text_format", "retention", "matching"}, exclude_none=True)
    validation = overrides.model_dump(include=set(ValidationSpec.model_fields), exclude_none=True)
    changed = _with(
        part,
        validation=_with(part.validation, **validation),
        teacher=_with(teacher, maximum_attempts=overrides.teacher_attempts, contracts=overrides.contracts),
        dataset=_with(part.dataset, **dataset),
        training=_with_training(part.training, overrides),
        training_seeds=overrides.training_seeds,
        evaluations=tuple(
            varied
            for evaluation in part.evaluations
            for capped in _vary(part, evaluation, "tool_call_cap", "cap", overrides.tool_call_caps)
            for varied in _vary(part, capped, "stateless_scope", "scope", overrides.stateless_scopes)
        ),
    )

    return changed if overrides.context_tokens is None else with_context(changed, overrides.context_tokens)


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
        evaluations.append(_with(each, instances=instances, runtime_contracts=overrides.contracts))
    trained = _with(part.train_instances, count=overrides.train_count)
    return _with(part, train_instances=trained, evaluations=tuple(evaluations))


def _with_training(training: TrainingSpec, overrides: Overrides) -> TrainingSpec:
    """Return the training with overrides; raise `UserError` for one that changes nothing here."""
    of_base = overrides.model_dump(include=_OF_A_BASE, exclude_none=True)
    if of_base and training.base != "hub":
        field, value = next(iter(of_base.items()))
        option = f"--{field.replace('_', '-')}"
        raise UserError(
            f"{option} {value} changes nothing: this plan trains from base {training.base!r}; "
            f"plans that adapt a pretrained model are {', '.join(_pretrained_plans())}"
        )
    if overrides.base_model is not None:
        training = training.model_copy(update={"base_revision": None})
    if overrides.device is not None:
        training = on_device(training, overrides.device)
    if overrides.lora_rank is not None:
        assert training.lora is not None  # a hub base is adapted
        lora = _with(training.lora, rank=overrides.lora_rank, alpha=2 * overrides.lora_rank)
        training = _with(training, lora=lora)
    named = overrides.model_dump(include=_OF_A_TRAINING, exclude_none=True)
    return _with(
        training,
        **named,
        optimizer=_with(training.optimizer, learning_rate=overrides.learning_rate),
        batch=_with(training.batch, tokens=overrides.pass_tokens, accumulation=overrides.accumulation),
    )


def _served_rank(rank: int) -> int:
    """Return the smallest rank that vLLM makes room for and that holds an adapter of `rank`."""
    return next((each for each in SERVED_RANKS if each >= rank), SERVED_RANKS[-1])


def _vary(
    part: StudyPart, evaluation: EvaluationSpec, field: str, word: str, levels: tuple[int | str, ...] | None
) -> Iterator[EvaluationSpec]:
    """Yield the evaluation, once per level of a factor: the first in its own place, every further one as a variant."""
    if levels is None:
        yield evaluation
        return
    own = evaluation.variant or part.variant
    prefix = "" if own == "main" else f"{own}-"
    for place, level in enumerate(levels):
        episode = evaluation.episode.model_copy(update={field: None if level == "none" else level})
        variant = evaluation.variant if place == 0 else f"{prefix}{word}-{level}"
        yield evaluation.model_copy(update={"episode": episode, "variant": variant})
