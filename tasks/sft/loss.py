"""The training loss on the learned positions alone: what is only read is never scored against the vocabulary."""

from typing import TYPE_CHECKING, Any

from carryover.tasks.sft.prepare import IGNORED

if TYPE_CHECKING:
    import torch


def learned_loss(
    model: "torch.nn.Module", inputs: dict[str, "torch.Tensor"], learned_count: "torch.Tensor | int | None"
) -> "torch.Tensor":
    """Return the mean cross entropy over the learned tokens of an optimizer step, as this batch's share of it.

    It is the trainer's own loss: the next token's negative log likelihood in float32, zero where the label is ignored.
    Adapters on the layers are part of the forward pass; the output head is the base's.

    Args:
        model: A causal model, or an adapter on one.
        inputs: A batch: `input_ids`, `labels` and `position_ids`, batch x tokens.
        learned_count: Learned tokens of the whole step, where gradients accumulate over batches; none for this batch's.
    """
    import torch

    base: Any = model
    if hasattr(base, "get_base_model"):
        base = base.get_base_model()
    hidden = base.base_model(
        input_ids=inputs["input_ids"], position_ids=inputs["position_ids"], use_cache=False
    ).last_hidden_state[:, :-1]
    labels = inputs["labels"][:, 1:]
    is_learned = labels != IGNORED
    logits = base.get_output_embeddings()(hidden[is_learned]).float()
    total = torch.nn.functional.cross_entropy(logits, labels[is_learned], reduction="sum")
    return total / torch.as_tensor(is_learned.sum() if learned_count is None else learned_count).clamp(min=1)
