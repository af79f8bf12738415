"""Gradient checkpointing that computes attention once: its results are kept, the rest of a layer is computed again."""

from typing import Any

_ATTENTION = ("flash_attn", "scaled_dot_product", "inductor_compiled_code")
"""Parts of the names of the operators that are kept; the one compiled region in a layer is flex_attention."""


def checkpointing_settings() -> dict[str, Any]:
    """Return torch's arguments of checkpointing.

    TRL's own `selective` misses flex_attention: inductor shows compiled code to a policy only where it is told to.
    """
    import torch._inductor.config

    torch._inductor.config.wrap_inductor_compiled_regions = True
    return {"use_reentrant": False, "context_fn": keep_attention}


def keep_attention() -> Any:
    """Return the contexts of a layer's forward pass and of its recomputation."""
    from torch.utils.checkpoint import CheckpointPolicy, create_selective_checkpoint_contexts

    def policy(_context: Any, operator: Any, *_: Any, **__: Any) -> CheckpointPolicy:
        is_kept = any(name in str(operator) for name in _ATTENTION)
        return CheckpointPolicy.MUST_SAVE if is_kept else CheckpointPolicy.PREFER_RECOMPUTE

    return create_selective_checkpoint_contexts(policy)
