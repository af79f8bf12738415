"""The fields of a plan that a caller may change."""

from itertools import chain
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, ConfigDict, Field, field_validator

from carryover.tasks.agent.credentials import PlainAddress
from carryover.tasks.agent.episode_spec import PromptSet
from carryover.tasks.plans.presets import PLANS
from carryover.tasks.plans.pretrained import PretrainedBucket
from carryover.tasks.runtime.contract import Scope
from carryover.tasks.services.frozen_model import FrozenModel, needs
from carryover.tasks.services.hub import expanded
from carryover.tasks.serving.serving_spec import OwnEngine
from carryover.tasks.sft.training_spec import Attention, ChatTemplate, Device, Precision
from carryover.tasks.traces.vocabulary import Backend, Matching, Retention, TextFormat


def _name_known_parts(schema: dict[str, Any]) -> None:
    parts = chain.from_iterable(plan("").parts for plan in PLANS.values())
    names = dict.fromkeys(part.name for part in parts)
    schema["anyOf"][0]["items"] = {"enum": list(names)}


ToolCallCap = Annotated[int, Field(ge=1)] | Literal["none"]
"""A level of the factor; `none` is no cap."""


class Overrides(FrozenModel):
    """Fields of a plan that a caller may change; others stay."""

    model_config = ConfigDict(json_schema_extra={"dependentSchemas": needs("endpoint_key_variable", "endpoint_url")})

    parts: tuple[str, ...] | None = Field(
        default=None,
        min_length=1,
        description="Run only these parts; the selection is a plan with a digest of its own.",
        json_schema_extra=_name_known_parts,
    )
    family: str | None = Field(
        default=None,
        description="Task family in place of the knapsack: a name, MODULE:CLASS or FILE.py:CLASS.",
    )
    train_count: int | None = Field(default=None, ge=1, description="Training instances, played under each contract.")
    evaluation_count: int | None = Field(default=None, ge=1, description="Evaluation instances per cell.")
    training_seeds: tuple[int, ...] | None = Field(
        default=None, min_length=1, description="One model per contract and seed."
    )
    contracts: tuple[str, ...] | None = Field(
        default=None,
        min_length=1,
        description="Contracts that models are trained on and play under: persistent, stateless, injected, "
        "injected+persistent, recent-K (names for K blocks), functions, or your own as FILE.py:NAME or FILE.yaml:NAME.",
    )
    runtime_contracts: tuple[str, ...] | None = Field(
        default=None, min_length=1, description="Contracts that models play under, where not those of training."
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
    teacher_habits: Literal["fixed", "varied"] | None = Field(
        default=None,
        description="Habits of scripted teachers: fixed ones, or drawn per instance and equal under both contracts.",
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
        description="Where models train: gpu or cpu (reinforcement: cpu). A pretrained one is served there, too: gpu "
        "with QLoRA and vLLM, cpu with LoRA.",
    )
    engine: OwnEngine | None = Field(
        default=None,
        description="Server of a pretrained plan's models: ours on a cpu or gpu, or vllm; default: as device.",
    )
    method: Literal["lora", "qlora"] | None = Field(
        default=None, description="Adapters on the base as it is, or on one quantized to 4 bits."
    )
    precision: Precision | None = Field(
        default=None, description="Number format of training, beside quantized weights."
    )
    chat_template: ChatTemplate | None = Field(
        default=None, description="Chat template in place of the base's own, where that cannot train."
    )
    epochs: float | None = Field(default=None, gt=0, description="Passes over the training data.")
    learning_rate: float | None = Field(default=None, gt=0, description="Peak learning rate of AdamW.")
    lora_rank: int | None = Field(default=None, gt=0, description="Rank of the adapters; alpha is twice the rank.")
    context_tokens: int | None = Field(
        default=None,
        gt=0,
        description="Longest training sequence and served conversation; default: the base's positions.",
    )
    packing: bool | None = Field(
        default=None,
        description="Fill training sequences with whole conversations; without it, those of like length share a pass.",
    )
    pass_tokens: int | None = Field(default=None, gt=0, description="Padded tokens of a forward pass without packing.")
    accumulation: int | None = Field(default=None, gt=0, description="Forward passes per optimizer step.")
    gradient_checkpointing: bool | None = Field(
        default=None, description="Recompute activations in the backward pass: less memory, a third more work."
    )
    cpu_threads: int | None = Field(default=None, gt=0, description="Threads of each training and server on a CPU.")
    gpu_memory_share: float | None = Field(
        default=None, gt=0, le=1, description="Share of the GPU's memory that a server may take."
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

    @field_validator("parts", "training_seeds", "contracts", "runtime_contracts", "tool_call_caps", "stateless_scopes")
    @classmethod
    def _values_differ(cls, values: tuple[int | str, ...] | None) -> tuple[int | str, ...] | None:
        if values is None:
            return None
        repeated = [value for value in values if values.count(value) > 1]
        if repeated:
            raise ValueError(f"{repeated[0]} is named twice; name each once")
        return values
