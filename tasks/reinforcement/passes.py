"""Passes of an update, each as long as its own episodes."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor
    from trl.trainer.grpo_trainer import GRPOTrainer

_OF_PROMPTS = ("prompt_ids", "prompt_mask")
_OF_COMPLETIONS = (
    "completion_ids",
    "completion_mask",
    "tool_mask",
    "old_per_token_logps",
    "ref_per_token_logps",
    "sampling_per_token_logps",
)


def short_pass_trainer() -> type["GRPOTrainer"]:
    """Return TRL's trainer without a pass's needless padding.

    Loss and gradient are the same.
    """
    from trl.trainer.grpo_trainer import GRPOTrainer

    class ShortPassTrainer(GRPOTrainer):
        """Pads no pass to the longest episode of its update, which takes several times the time and memory."""

        def compute_loss(self, model: Any, inputs: dict[str, Any], *args: Any, **options: Any) -> Any:
            return super().compute_loss(model, without_padding(inputs), *args, **options)

    return ShortPassTrainer


def without_padding(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Return a pass's tensors without the columns that no episode reaches.

    Those of `(episodes, tokens)` are padded: prompts on their left, completions on their right.
    """
    prompt_tokens = _longest(inputs["prompt_mask"])
    completion_tokens = _longest(inputs["completion_mask"])
    cut = dict(inputs)
    for name in inputs.keys() & _OF_PROMPTS:
        cut[name] = inputs[name][:, -prompt_tokens:]
    for name in inputs.keys() & _OF_COMPLETIONS:
        cut[name] = inputs[name][:, :completion_tokens]
    return cut


def _longest(mask: "Tensor") -> int:
    return int(mask.sum(dim=1).max())
