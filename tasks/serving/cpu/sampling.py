"""Sampling of the next token of every row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from torch import Tensor


class SamplingParameters(NamedTuple):
    """Decoding options of a request."""

    max_tokens: int
    temperature: float = 1.0
    """0 takes the most likely token."""
    top_p: float = 1.0
    """Share of probability kept, most likely tokens first."""
    seed: int | None = None
    """Same seed, same draws; None draws from the operating system."""
    stop: tuple[str, ...] = ()
    """Texts that end the reply; not part of it."""
    ignores_end: bool = False
    """Whether the end token is an ordinary one (for measurements of fixed length)."""


def choose_tokens(logits: Tensor, parameters: Sequence[SamplingParameters], uniforms: Sequence[float]) -> list[int]:
    """Choose one token per row of `logits` (rows, vocabulary) with one uniform number in [0, 1) per row.

    The inverse of the cumulative distribution is taken at the row's number, so a row's choice depends on its own
    logits and generator alone. Logits themselves move in their last bits with the shape of the batch; a number that
    falls on such a boundary (about one in a million tokens) may choose the neighbour.
    """
    import torch

    if all(row.temperature == 0 for row in parameters):
        return logits.argmax(-1).tolist()
    is_greedy = torch.tensor([row.temperature == 0 for row in parameters])
    temperatures = torch.tensor([row.temperature or 1.0 for row in parameters])
    probabilities = torch.softmax(logits / temperatures[:, None], -1)
    if any(row.top_p < 1 for row in parameters):
        # The smallest set of most likely tokens that holds `top_p` of the probability is kept.
        ordered, order = probabilities.sort(-1, descending=True)
        is_outside = ordered.cumsum(-1) - ordered >= torch.tensor([row.top_p for row in parameters])[:, None]
        probabilities = torch.zeros_like(probabilities).scatter(-1, order, ordered.masked_fill(is_outside, 0.0))
    cumulative = probabilities.double().cumsum(-1)
    thresholds = torch.tensor(uniforms, dtype=torch.float64)[:, None] * cumulative[:, -1:]
    # Right-hand side: a token of probability zero, whose interval is empty, is never chosen.
    drawn = torch.searchsorted(cumulative, thresholds, right=True)[:, 0]
    return torch.where(is_greedy, logits.argmax(-1), drawn.clamp(max=logits.shape[-1] - 1)).tolist()
