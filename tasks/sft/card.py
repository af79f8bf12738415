"""Card of a trained model: contract, data, plan and metrics."""

import json
import warnings
from datetime import datetime
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from carryover.tasks.services.errors import UserError
from carryover.tasks.services.frozen_model import FrozenModel
from carryover.tasks.services.whole_files import write_whole
from carryover.tasks.sft.training_log import TrainingMetric
from carryover.tasks.sft.training_spec import TrainingSpec

CARD_NAME = "carryover.json"


class ModelCard(FrozenModel):
    """The machine-readable card; a folder that has one holds a finished training."""

    contract: str | None
    """Contract of the training traces; None for a base."""
    kind: Literal["checkpoint", "adapter"]
    """A whole model, or a LoRA on `base_model`."""
    base_model: str
    """Start of the training: a folder, a hub id, or `untrained`."""
    spec: TrainingSpec
    seed: int
    plan_digest: str | None
    dataset_digest: str
    """SHA-256 of the training data's file."""
    example_count: int
    """Conversations trained on."""
    model_digest: str
    """SHA-256 over the saved tensors."""
    parameter_count: int
    """Parameters of the model, adapters included."""
    trained_parameter_count: int
    token_count: int
    """Tokens seen, all epochs."""
    step_count: int
    final_loss: float
    """Mean loss of the last logging interval."""
    validation_loss: float | None
    device: str
    attention: str
    """Implementation of attention that computed it."""
    varying_operations: tuple[str, ...] | None = None
    """Operations on a GPU that torch cannot repeat to the bit; None on a CPU, where they are not looked for."""
    wall_seconds: float
    started_at: datetime
    metrics: tuple[TrainingMetric, ...]


class ContractMismatchError(UserError):
    """The model was trained under another contract.

    It must not run under this one, except in a cross-evaluation.
    """


class ContractMismatchWarning(UserWarning):
    """The model was trained under another contract, and runs by intention."""


def write_card(folder: Path, card: ModelCard) -> None:
    """Write README.md and, as the last file of a finished training, carryover.json."""
    front_matter = {"library_name": "transformers" if card.kind == "checkpoint" else "peft", "tags": ["carryover"]}
    if card.base_model != "untrained":
        front_matter["base_model"] = card.base_model
    commit = ""
    if card.spec.base_revision:
        commit = f" at commit {card.spec.base_revision}"
    lines = [
        "---",
        *(f"{key}: {json.dumps(value)}" for key, value in front_matter.items()),
        "---",
        f"# {card.contract or 'base'} {card.kind}",
        "",
        f"Declared contract: **{card.contract or 'none'}**"
        + (". Under another one its code assumes the wrong lifetime of bindings." if card.contract else "."),
        "",
        "| | |",
        "|---|---|",
        f"| base | {card.base_model}{commit} |",
        f"| training | {card.spec.name} ({card.spec.method}), seed {card.seed} |",
        f"| plan | {card.plan_digest or '-'} |",
        f"| dataset | {card.example_count} conversations, sha256 {card.dataset_digest} |",
        f"| parameters | {card.parameter_count:,}, trained {card.trained_parameter_count:,} |",
        f"| tokens seen | {card.token_count:,} in {card.step_count:,} steps |",
        f"| final loss | {card.final_loss:.4f} |",
        f"| validation loss | {'-' if card.validation_loss is None else format(card.validation_loss, '.4f')} |",
        f"| tensors | sha256 {card.model_digest} |",
        f"| trained on | {card.device}, {card.attention}, {card.wall_seconds:.0f} s |",
        f"| not repeated to the bit | {_named_operations(card.varying_operations)} |",
    ]
    (folder / "README.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    write_whole(folder / CARD_NAME, card.model_dump_json(indent=2) + "\n")


def _named_operations(names: tuple[str, ...] | None) -> str:
    if names is None:
        return "not looked for: the same processor with as many threads repeats a training"
    if not names:
        return "torch names no operation"
    return ", ".join(names)


def read_card(folder: Path) -> ModelCard:
    """Return a model folder's card; raise `UserError` without one."""
    path = folder / CARD_NAME
    try:
        return ModelCard.model_validate_json(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise UserError(f"{folder} has no {CARD_NAME}: not a finished training; train it first") from error
    except ValidationError as error:
        raise UserError(f"{path} is not a model card of this version; train the model again") from error


def load_for_runtime(folder: Path, runtime_contract: str, is_cross_evaluation: bool = False) -> ModelCard:
    """Return the card of a model that may run under a contract.

    A model trained on another contract warns by name in a cross-evaluation and is a `ContractMismatchError` otherwise.
    A base has no contract and runs under any. A folder that holds no finished training is a `UserError`.
    """
    card = read_card(folder)
    if card.contract is None or card.contract == runtime_contract:
        return card
    mismatch = f"model {folder.name} was trained on the {card.contract} contract, the runtime is {runtime_contract}"
    if not is_cross_evaluation:
        raise ContractMismatchError(
            f"{mismatch}; load the other model, or say that this is a cross-evaluation (--is-cross-evaluation)"
        )
    warnings.warn(mismatch, ContractMismatchWarning, stacklevel=2)
    return card
