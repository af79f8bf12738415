"""The resolved plan of a study: frozen specs of every stage, composed."""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from carryover.tasks.agent.condition import Condition
from carryover.tasks.agent.episode_spec import EndpointSpec, EpisodeSpec
from carryover.tasks.analysis.statistics_spec import StatisticsSpec
from carryover.tasks.datasets.dataset_spec import DatasetSpec, ValidationSpec
from carryover.tasks.reinforcement.reinforcement_spec import ReinforcementSpec
from carryover.tasks.runtime.contract import Contract, named_contract
from carryover.tasks.runtime.runtime_spec import RuntimeSpec
from carryover.tasks.services.frozen_model import FrozenModel
from carryover.tasks.services.source_digest import canonical_json
from carryover.tasks.serving.serving_spec import ServingSpec
from carryover.tasks.sft.training_spec import TrainingSpec
from carryover.tasks.traces.vocabulary import (
    PAPER_CONTRACTS,
    PAPER_FAMILY,
    BaseName,
    Header,
    Purpose,
    Scale,
    Split,
    Visibility,
)

FRAME_MODULES = ("json", "pandas", "pyarrow")
"""Modules that injected frames are made of, and `json`, which pandas brings along."""


class InstanceSetSpec(FrozenModel):
    """Instances of a bucket for one purpose: `count` consecutive seeds."""

    family: str = Field(default=PAPER_FAMILY, exclude_if=lambda family: family == PAPER_FAMILY)
    """Task family, by name or as `MODULE:CLASS`; the default is excluded from the dump, so that digests stay
    stable."""
    family_source: str | None = Field(default=None, exclude_if=lambda source: source is None)
    """Digest of the family's source; None for the knapsack, whose source counts with that of the episodes."""
    bucket: str
    """Difficulty: one of the family's buckets."""
    split: Split
    count: int
    first_seed: int

    @property
    def problems(self) -> tuple[str, ...]:
        """Kind of the problems: for the knapsack, its bucket alone."""
        if self.family_source is None:
            return (self.bucket,)
        return (self.family, self.family_source, self.bucket)

    @property
    def seeds(self) -> range:
        """The seeds of the instances."""
        return range(self.first_seed, self.first_seed + self.count)


class TeacherSpec(FrozenModel):
    """The teacher of the training traces."""

    kind: Literal["scripted", "endpoint"]
    """A deterministic policy, or a model behind an endpoint."""
    episode: EpisodeSpec
    endpoint: EndpointSpec | None = None
    """Where the teacher is reached, for `endpoint`."""
    model_name: str = "scripted"
    contracts: tuple[str, ...] = PAPER_CONTRACTS
    """Contracts that traces are played under, and that models are trained on: one model each."""
    prints_table: bool = True
    """Whether a scripted stateless teacher of the small buckets prints the table that it rebuilds."""
    habits: dict[str, tuple[str | int, ...]] | None = Field(default=None, exclude_if=lambda habits: habits is None)
    """Levels of a scripted teacher's habits, one of each drawn per instance; None for the fixed teacher. Excluded from
    the dump if it is None, so that digests stay stable."""
    maximum_attempts: int | None = None
    """Attempts after which an episode that ended with `error` every time is given up, so that models are trained
    without it; None plays it again on every start, and nothing is trained until it ends otherwise. An attempt that met
    an endpoint that was down counts for nothing."""

    @model_validator(mode="after")
    def _endpoint_belongs_to_its_kind(self) -> Self:
        if (self.kind == "endpoint") != (self.endpoint is not None):
            raise ValueError(
                f"a teacher of kind {self.kind!r} with endpoint {self.endpoint}: kind 'endpoint' needs one, others none"
            )
        return self

    @model_validator(mode="after")
    def _habits_belong_to_a_script(self) -> Self:
        if self.habits is not None and self.kind != "scripted":
            raise ValueError("a teacher behind an endpoint has habits of its own; leave habits out")
        return self


class EvaluationSpec(FrozenModel):
    """Evaluation of trained models on one instance set."""

    instances: InstanceSetSpec
    episode: EpisodeSpec
    visibility: Visibility = "declared"
    header: Header = "names"
    has_base_rows: bool = True
    """Whether the untrained or unadapted base is evaluated beside the trained models."""
    has_trained_rows: bool = True
    """Whether the trained models are evaluated; false for the base alone, under rules of its own."""
    has_scripted_rows: bool = False
    """Whether each contract's scripted teacher plays the instances too, under every runtime: the script control."""
    replicates: int = 1
    runtime_contracts: tuple[str, ...] = Field(
        default=PAPER_CONTRACTS, exclude_if=lambda contracts: contracts == PAPER_CONTRACTS
    )
    """Contracts that every model plays under; the default is excluded from the dump, so that digests stay stable."""
    variant: str | None = None
    """Variant to land the episodes under, where the same models play under other rules; the part's own without it."""


class OwnBaseSpec(FrozenModel):
    """A base that the study trains itself, before one adapter per contract."""

    corpus: Literal["plain", "both"]
    """Plain code and tool use without either contract's idiom, or the part's traces of both contracts."""
    training: TrainingSpec
    """A training from scratch."""
    instances: InstanceSetSpec | None = None
    """Instances of the `plain` conversations."""
    seed: int = 0
    """Seed of weights and data order; one base serves every training seed of the adapters."""

    @model_validator(mode="after")
    def _plain_corpus_has_instances(self) -> Self:
        if (self.corpus == "plain") != (self.instances is not None):
            raise ValueError(f"a base of corpus {self.corpus!r}: corpus 'plain' needs instances, others none")
        return self


class StudyPart(FrozenModel):
    """One arm of the study: teacher, data, training and evaluation.

    Parts that share variant, base and seed share the models, and parts that share the variant share the traces.
    """

    name: str = "main"
    """By which a caller picks the part; no two parts of a plan share it."""
    variant: str = "main"
    """`main` for the study itself, else the ablation or control."""
    base: BaseName
    own_base: OwnBaseSpec | None = None
    """Training of a `common` or `both` base."""
    train_instances: InstanceSetSpec
    teacher: TeacherSpec
    validation: ValidationSpec
    dataset: DatasetSpec
    training: TrainingSpec
    training_seeds: tuple[int, ...]
    evaluations: tuple[EvaluationSpec, ...]
    own_contracts: tuple[Contract, ...] = Field(default=(), exclude_if=lambda own: not own)
    """Definitions of contracts that a name does not describe; none is excluded from the dump, so that digests stay
    stable."""

    reinforcement: ReinforcementSpec | None = Field(default=None, exclude_if=lambda spec: spec is None)
    """GRPO of the trained models, before they are evaluated; None is excluded from the dump, so that digests stay
    stable."""

    @model_validator(mode="after")
    def _contracts_are_known(self) -> Self:
        for name in self.contract_names():
            named_contract(name, self.own_contracts)
        injecting = [name for name in self.teacher.contracts if self.defined(name).binds != "nothing"]
        if self.teacher.habits is not None and injecting:
            raise ValueError(f"habits vary where nothing is injected, not under {injecting[0]!r}; leave habits out")
        return self

    @model_validator(mode="after")
    def _fields_fit_together(self) -> Self:
        if self.reinforcement is not None and (len(self.teacher.contracts) != 2 or self.base != "scratch"):
            raise ValueError(f"part {self.name!r}: a reinforcement takes the whole models of two contracts")
        takes_own_base = self.base in ("common", "both")
        if takes_own_base != (self.own_base is not None):
            raise ValueError(f"part {self.name!r} of base {self.base!r}: common and both need own_base, others none")
        if len(set(self.training_seeds)) < len(self.training_seeds):
            raise ValueError(f"part {self.name!r}: training_seeds {self.training_seeds} name a seed twice")
        longest = self.dataset.maximum_sequence_tokens
        taken = self.training.batch.max_length
        if longest > taken:
            raise ValueError(
                f"part {self.name!r}: dataset.maximum_sequence_tokens {longest} is beyond the training's "
                f"batch.max_length {taken}; lower the first or raise the second"
            )
        return self

    def episode_variants(self) -> Iterator[str]:
        """Yield the variants that the part's episodes land under, the teacher's first."""
        yield self.variant
        yield from (evaluation.variant for evaluation in self.evaluations if evaluation.variant is not None)

    def reinforced_under(self, contract: str) -> str:
        """Return the contract under which a contract's model is reinforced."""
        assert self.reinforcement is not None
        if self.reinforcement.runtime == "own":
            return contract
        (other,) = [name for name in self.teacher.contracts if name != contract]
        return other

    def contract_names(self) -> list[str]:
        """Return the contracts of training and evaluation, once each."""
        names = [*self.teacher.contracts]
        for evaluation in self.evaluations:
            names += evaluation.runtime_contracts
        return list(dict.fromkeys(names))

    def defined(self, name: str) -> Contract:
        """Return the definition of one of the part's contracts."""
        return named_contract(name, self.own_contracts)

    def own_among(self, *names: str | None) -> tuple[Contract, ...]:
        """Return the definitions among these contracts that a name does not describe."""
        return tuple(contract for contract in self.own_contracts if contract.name in names)


_PACE: Any = {"serving": {"max_concurrent"}, "parts": {"__all__": {"teacher": {"endpoint": {"concurrency"}}}}}
"""Fields of a plan that only say how fast it runs."""


class StudyPlan(FrozenModel):
    """Everything that decides the rows of a study.

    Its digest names what was asked for; what runs again after a change is decided stage by stage (`identity.py`).
    Concurrency is excluded from the digest: a stopped study may resume at another pace.
    """

    name: str
    scale: Scale
    runtime: RuntimeSpec
    serving: ServingSpec
    parts: tuple[StudyPart, ...]
    statistics: StatisticsSpec = StatisticsSpec()
    source: str
    """Digest of the source that produces rows."""

    @model_validator(mode="after")
    def _parts_differ_and_can_be_served(self) -> Self:
        names = [part.name for part in self.parts]
        if len(set(names)) < len(names):
            raise ValueError(f"parts of plan {self.name!r} share a name: {', '.join(names)}")
        for part in self.parts if self.serving.engine == "vllm" else ():
            lora = part.training.lora
            limit = self.serving.max_lora_rank
            refusal = None
            if lora is None:
                refusal = "vLLM serves adapters on one base, not whole models; choose training method lora or qlora"
            elif lora.has_trained_embedding:
                field = "training.lora.has_trained_embedding"
                refusal = f"vLLM serves no adapter with an embedding of its own; switch {field} off"
            elif lora.rank > limit:
                refusal = f"training.lora.rank {lora.rank} is beyond serving.max_lora_rank {limit}; raise the second"
            if refusal is not None:
                raise ValueError(f"part {part.name!r}: {refusal}")
        return self

    @property
    def trainings(self) -> list[TrainingSpec]:
        """Settings of the trainings, those of own bases included, each once."""
        bases = [part.own_base.training for part in self.parts if part.own_base is not None]
        return list(dict.fromkeys([*(part.training for part in self.parts), *bases]))

    @property
    def digest(self) -> str:
        """Digest of every field but those of pace, source included."""
        return hashlib.sha256(canonical_json(self.model_dump(mode="json", exclude=_PACE)).encode()).hexdigest()[:16]

    def runtime_under(self, contract: Contract) -> RuntimeSpec:
        """Return the runtime of a contract's episodes.

        Where frames are injected, no block waits for pandas.
        """
        if contract.binds == "nothing":
            return self.runtime
        return self.runtime.model_copy(update={"preload": (*self.runtime.preload, *FRAME_MODULES)})

    @property
    def title(self) -> str:
        """The plan's name and label; with its families, but for the knapsack."""
        families = dict.fromkeys(part.train_instances.family for part in self.parts)
        named = [family for family in families if family != PAPER_FAMILY]
        label = self.label.removeprefix(f"{self.name}, ")
        if named:
            return f"{self.name} on {', '.join(named)}: {label}"
        return f"{self.name}: {label}"

    @property
    def label(self) -> str:
        """Name of the plan's own numbers in tables."""
        match self.scale:
            case "smoke":
                return "numbers without meaning"
            case "laptop":
                return "laptop, not Qwen3-8B"
            case "pretrained":
                return f"pretrained, {', '.join(dict.fromkeys(map(_base_title, self.parts)))}"
            case "paper":
                return "paper scale"

    def is_billed(self, purpose: Purpose) -> bool:
        """Whether endpoints of a purpose bill their tokens.

        Those given by URL do, the study's own servers do not.
        """
        return purpose == "teacher" or self.serving.engine == "external"

    def instance_sets(self) -> list[InstanceSetSpec]:
        """Every landed instance set, once, in order of use.

        Of a base's corpus there is none.
        """
        sets = [part.train_instances for part in self.parts]
        for part in self.parts:
            sets += [evaluation.instances for evaluation in part.evaluations]
        return list(dict.fromkeys(sets))


def _base_title(part: StudyPart) -> str:
    return part.training.base_title or Path(part.training.base_model or part.base).name


def teacher_conditions(part: StudyPart) -> Iterator[Condition]:
    """Yield the conditions of the part's teacher traces."""
    for contract in part.teacher.contracts:
        yield Condition(
            purpose="teacher",
            variant=part.variant,
            model_name=part.teacher.model_name,
            runtime_contract=contract,
            bucket=part.train_instances.bucket,
            split="train",
            own_contracts=part.own_among(contract),
        )
