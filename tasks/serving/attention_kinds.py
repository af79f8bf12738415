"""What of a model's configuration our own engines cannot serve."""

from typing import Any


def partial_attention(config: Any) -> str | None:
    """Return in words the layers that see less than all tokens before them.

    `None` for full attention. `config` is a configuration of transformers.
    """
    kinds = sorted(set(getattr(config, "layer_types", None) or ["full_attention"]))
    window = getattr(config, "sliding_window", None)
    if kinds == ["full_attention"] and not window:
        return None
    return f"layers of kind {', '.join(kinds)} with sliding window {window}"
