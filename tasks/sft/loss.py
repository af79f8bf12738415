"""The training loss on the learned positions alone: what is only read is never scored against the vocabulary."""

from typing import TYPE_CHECKING, Any, NamedTuple

from carryover.tasks.sft.prepare import IGNORED

if TYPE_CHECKING:
    import torch


class LearnedLoss(NamedTuple):
    """A batch's share of the loss of an optimizer step, and what TRL logs beside it."""

    loss: "torch.Tensor"
    entropy: float
    token_accuracy: float


def learned_loss(
    model: "torch.nn.Module", inputs: dict[str, "torch.Tensor"], learned_count: "torch.Tensor | int | None"
) -> LearnedLoss:
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
    learned = labels[is_learned]
    total = torch.nn.functional.cross_entropy(logits, learned, reduction="sum")
    with torch.no_grad():
        likelihoods = logits.log_softmax(-1)
        entropy = -(likelihoods.exp() * likelihoods).sum(-1)
        is_right = logits.argmax(-1) == learned
    count = torch.as_tensor(len(learned) if learned_count is None else learned_count).clamp(min=1)
    found = max(1, len(learned))
    return LearnedLoss(total / count, entropy.sum().item() / found, is_right.sum().item() / found)
