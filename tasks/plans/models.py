"""The models of a study: names, folders and conditions of evaluation."""

from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from carryover.tasks.agent.condition import Condition
from carryover.tasks.analysis.statistics_spec import ComparedArm, PlannedGroup
from carryover.tasks.plans.study_plan import EvaluationSpec, StudyPart, StudyPlan
from carryover.tasks.services.frozen_model import FrozenModel
from carryover.tasks.serving.serving_spec import ServedModels

BASE_NAME = "base"


class StudyModel(FrozenModel):
    """A trained model or a base, as an endpoint serves it."""

    name: str
    """Name in requests."""
    kind: Literal["base", "adapter", "checkpoint"]
    path: str
    """Folder, or hub id of a base."""
    revision: str | None = None
    """Commit of a base's repository on the hub, where the plan names one."""
    digest: str | None = None
    """SHA-256 over its tensors, where known."""
    identity: str
    """Identity of its replies: the digest over its tensors, or the source it is made or loaded from."""
    train_contract: str | None = None
    """Contract of the training traces; None for the base."""
    training_seed: int | None = None


class ChosenCells(FrozenModel):
    """Cells of a study to evaluate again; by default all of them."""

    model: str | None = Field(default=None, description="Name of one model, e.g. persistent-0; all models without it.")
    runtime_contract: str | None = Field(default=None, description="Contract of the runtime; all contracts without it.")
    is_cross_evaluation: bool = Field(default=False, description="Allow a contract that the model was not trained on.")

    @property
    def may_cross(self) -> bool:
        """Whether a model may run under another contract, as studies do."""
        return self.is_cross_evaluation or (self.model is None and self.runtime_contract is None)

    @property
    def in_words(self) -> str:
        """The options that choose them."""
        words = []
        if self.model is not None:
            words.append(f"--model {self.model}")
        if self.runtime_contract is not None:
            words.append(f"--runtime-contract {self.runtime_contract}")
        return " ".join(words)

    def served(self, models: Sequence[StudyModel]) -> list[StudyModel]:
        """Return the chosen models and the base.

        Every server needs it.
        """
        return [model for model in models if self.model in (None, model.name) or model.kind == "base"]

    def holds(self, condition: Condition) -> bool:
        """Tell whether a condition is a chosen cell."""
        return self.names(condition.model_name, condition.runtime_contract)

    def names(self, model: str, runtime_contract: str) -> bool:
        """Tell whether a cell is chosen, by the names of its model and contract."""
        return self.model in (None, model) and self.runtime_contract in (None, runtime_contract)


ALL_CELLS = ChosenCells()
"""Every cell of a study."""


def model_name(contract: str, seed: int) -> str:
    """Return the name under which a trained model is served."""
    return f"{contract}-{seed}"


def trained_arms(part: StudyPart) -> list[tuple[str, int]]:
    """Return the contract and the seed of each trained model of a part."""
    return [(contract, seed) for seed, contract in product(part.training_seeds, part.teacher.contracts)]


def training_name(part: StudyPart, contract: str | None, seed: int) -> str:
    """Return a training's name, or that of a part's base."""
    return f"{part.variant}-{part.base}-{'base' if contract is None else contract}-{seed}"


def reinforcement_name(part: StudyPart, contract: str, seed: int) -> str:
    """Return a reinforcement's name."""
    return f"{part.name}-{part.base}-{contract}-{seed}"


def base_of(models: Sequence[StudyModel]) -> StudyModel:
    """Return the base among models; raise `ValueError` unless there is one."""
    (base,) = [model for model in models if model.kind == "base"]
    return base


def served_models(models: Sequence[StudyModel]) -> ServedModels:
    """Return the models for a server, with exactly one base.

    Raise `ValueError` otherwise.
    """
    base = base_of(models)
    return ServedModels(
        base=base.path,
        base_revision=base.revision,
        base_name=base.name,
        adapters={model.name: Path(model.path) for model in models if model.kind == "adapter"},
        checkpoints={model.name: Path(model.path) for model in models if model.kind == "checkpoint"},
    )


def evaluation_conditions(
    part: StudyPart, evaluation: EvaluationSpec, models: Sequence[StudyModel]
) -> Iterator[Condition]:
    """Yield an evaluation's cells: every wanted model under every contract."""
    for model in models:
        is_wanted = evaluation.has_base_rows if model.kind == "base" else evaluation.has_trained_rows
        for contract in evaluation.runtime_contracts if is_wanted else ():
            who = {"model_name": model.name, "model_digest": model.digest, "train_contract": model.train_contract}
            yield _condition(part, evaluation, contract, base=part.base, training_seed=model.training_seed, **who)


def script_conditions(part: StudyPart, evaluation: EvaluationSpec) -> Iterator[Condition]:
    """Yield an evaluation's script control: every script under every runtime."""
    for script, runtime in product(part.teacher.contracts, evaluation.runtime_contracts):
        if evaluation.has_scripted_rows:
            who = {"base": "teacher", "model_name": f"scripted-{script}", "train_contract": script}
            yield _condition(part, evaluation, runtime, **who)


def cells(part: StudyPart, evaluation: EvaluationSpec) -> list[tuple[str | None, str]]:
    """Return an evaluation's (train, runtime) contracts; the base trains None."""
    trained: list[str | None] = [*part.teacher.contracts * evaluation.has_trained_rows]
    trained += [None] * evaluation.has_base_rows
    return list(product(trained, evaluation.runtime_contracts))


def named_cells(part: StudyPart, base_name: str = BASE_NAME) -> list[tuple[str, str]]:
    """Return the names of model and runtime contract of each cell that a part's models play."""
    trained = [model_name(*arm) for arm in trained_arms(part)]
    named: list[tuple[str, str]] = []
    for evaluation in part.evaluations:
        models = trained * evaluation.has_trained_rows + [base_name] * evaluation.has_base_rows
        named += product(models, evaluation.runtime_contracts)
    return named


def planned_groups(plan: StudyPlan) -> dict[tuple[str, ...], PlannedGroup]:
    """Return planned arms by variant, base, visibility, header and bucket."""
    groups: dict[tuple[str, ...], PlannedGroup] = {}
    for part in plan.parts:
        for evaluation in part.evaluations:
            arms = {ComparedArm(*cell) for cell in cells(part, evaluation)}
            bucket = evaluation.instances.bucket
            key = (evaluation.variant or part.variant, part.base, evaluation.visibility, evaluation.header, bucket)
            known = groups.get(key, PlannedGroup())
            groups[key] = PlannedGroup(known.arms | arms, max(known.replicates, evaluation.replicates))
    return groups


def _condition(part: StudyPart, evaluation: EvaluationSpec, runtime_contract: str, **who: Any) -> Condition:
    return Condition(
        purpose="evaluation",
        variant=evaluation.variant or part.variant,
        runtime_contract=runtime_contract,
        visibility=evaluation.visibility,
        header=evaluation.header,
        bucket=evaluation.instances.bucket,
        split="evaluation",
        is_out_of_distribution=evaluation.instances.bucket != part.train_instances.bucket,
        own_contracts=part.own_among(who["train_contract"], runtime_contract),
        **who,
    )
