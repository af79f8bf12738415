"""The few fields of a plan that a caller may change."""

from collections.abc import Iterator
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, field_validator

from carryover.tasks.agent.credentials import PlainAddress
from carryover.tasks.agent.episode_spec import EndpointSpec
from carryover.tasks.datasets.dataset_spec import ValidationSpec
from carryover.tasks.plans.presets import PLANS
from carryover.tasks.plans.study_plan import EvaluationSpec, StudyPart, StudyPlan
from carryover.tasks.runtime.contract import Scope
from carryover.tasks.services.errors import UserError
from carryover.tasks.services.frozen_model import FrozenModel, needs
from carryover.tasks.services.hub import expanded
from carryover.tasks.sft.training_spec import Attention
from carryover.tasks.traces.vocabulary import Backend, Matching, Retention, TextFormat


def _name_known_parts(schema: dict[str, Any]) -> None:
    names = dict.fromkeys(part.name for plan in PLANS.values() for part in plan("").parts)
    schema["anyOf"][0]["items"] = {"enum": list(names)}


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

    @field_validator("parts", "training_seeds", "tool_call_caps", "stateless_scopes")
    @classmethod
    def _values_differ(cls, values: tuple[int | str, ...] | None) -> tuple[int | str, ...] | None:
        if values is not None and (repeated := [value for value in values if values.count(value) > 1]):
            raise ValueError(f"{repeated[0]} is named twice; name each once")
        return values


def apply_overrides(plan: StudyPlan, overrides: Overrides) -> StudyPlan:
    """Return the plan with overrides applied; raise `UserError` if one changes nothing or makes no valid plan."""
    serving = _with(plan.serving, max_concurrent=overrides.concurrency)
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
    teacher, training = part.teacher, part.training
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
    base = overrides.model_dump(include={"base_model", "base_revision"}, exclude_none=True)
    if base and training.base != "hub":
        field, value = next(iter(base.items()))
        option = f"--{field.replace('_', '-')}"
        raise UserError(
            f"{option} {value} changes nothing: this plan trains from base {training.base!r}; "
            f"plans that adapt a pretrained model are {', '.join(_pretrained_plans())}"
        )
    if overrides.base_model is not None:
        training = training.model_copy(update={"base_revision": None})
    dataset = overrides.model_dump(include={"text_format", "retention", "matching"}, exclude_none=True)
    validation = overrides.model_dump(include=set(ValidationSpec.model_fields), exclude_none=True)
    return _with(
        part,
        validation=_with(part.validation, **validation),
        train_instances=_with(part.train_instances, count=overrides.train_count),
        teacher=_with(teacher, maximum_attempts=overrides.teacher_attempts),
        dataset=_with(part.dataset, **dataset),
        training=_with(training, **base, attention=overrides.attention),
        training_seeds=overrides.training_seeds,
        evaluations=tuple(
            varied
            for evaluation in part.evaluations
            for counted in [_with(evaluation, instances=_with(evaluation.instances, count=overrides.evaluation_count))]
            for capped in _vary(part, counted, "tool_call_cap", "cap", overrides.tool_call_caps)
            for varied in _vary(part, capped, "stateless_scope", "scope", overrides.stateless_scopes)
        ),
    )


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
