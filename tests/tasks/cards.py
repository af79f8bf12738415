"""The card of a finished training, as tests leave one in a folder."""

from datetime import UTC, datetime
from typing import Any

from carryover.tasks.sft.card import ModelCard
from carryover.tasks.sft.training_spec import TRAINING


def make_card(**values: Any) -> ModelCard:
    """Return the card of a checkpoint that was trained on the persistent contract from random weights."""
    card = ModelCard(
        contract="persistent", kind="checkpoint", base_model="untrained", spec=TRAINING["smoke"], seed=0,
        plan_digest=None, dataset_digest="d", example_count=1, model_digest="f" * 64, parameter_count=1,
        trained_parameter_count=1, token_count=1, step_count=1, final_loss=1.0, validation_loss=None, device="cpu",
        attention="sdpa", wall_seconds=1.0, started_at=datetime(2026, 1, 1, tzinfo=UTC), metrics=(),
    )  # fmt: skip
    return card.model_copy(update=values)
