"""Sampling of the next token of every row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from torch import Tensor


SHARE_MARGIN = 1e-4
"""Distance of a draw from another token's share below which rounding might decide, over c (1 - c) at a boundary c.

Where no logit moves by more than d, a boundary moves by at most 2 d c (1 - c). In float32, logits of a size of 3
moved by 2e-6 with the batch.
"""
LOGIT_MARGIN = 2e-4
"""Distance of the two largest logits, likewise."""


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


class Choice(NamedTuple):
    """Tokens of a batch of rows."""

    tokens: list[int]
    is_close: list[bool]
    """Whether logits that round otherwise could choose another token."""


def choose_tokens(logits: Tensor, parameters: Sequence[SamplingParameters], uniforms: Sequence[float]) -> Choice:
    """Choose one token per row of `logits` (rows, vocabulary).

    The inverse of the cumulative distribution is taken at the row's number, so a row's choice depends on its own
    logits and generator alone.
    """
    import torch

    best = logits.argmax(-1)
    first, second = logits.topk(2, -1).values.unbind(-1)
    is_tie = first - second < LOGIT_MARGIN
    if all(row.temperature == 0 for row in parameters):
        return Choice(best.tolist(), is_tie.tolist())
    device = logits.device
    is_greedy = torch.tensor([row.temperature == 0 for row in parameters], device=device)
    temperatures = torch.tensor([row.temperature or 1.0 for row in parameters], device=device)
    probabilities = torch.softmax(logits / temperatures[:, None], -1)
    is_close = torch.zeros(len(parameters), dtype=torch.bool, device=device)
    if any(row.top_p < 1 for row in parameters):
        probabilities, is_close = _keep_likely(probabilities, parameters)
    drawn, is_at_boundary = _draw(probabilities, uniforms)
    tokens = torch.where(is_greedy, best, drawn)
    return Choice(tokens.tolist(), torch.where(is_greedy, is_tie, is_close | is_at_boundary).tolist())


class _Kept(NamedTuple):
    probabilities: Tensor
    """(rows, vocabulary), 0 for tokens that are left out."""
    is_close: Tensor
    """Whether rounding might decide which tokens are kept."""


def _keep_likely(probabilities: Tensor, parameters: Sequence[SamplingParameters]) -> _Kept:
    """Keep each row's smallest set of likely tokens that holds `top_p`."""
    import torch

    ordered, order = probabilities.sort(-1, descending=True)
    shares = torch.tensor([row.top_p for row in parameters], device=probabilities.device)[:, None]
    before = ordered.cumsum(-1) - ordered  # probability of the likelier tokens
    kept = torch.zeros_like(probabilities).scatter(-1, order, ordered.masked_fill(before >= shares, 0.0))
    is_close = ((before - shares).abs() < SHARE_MARGIN * shares * (1 - shares)).any(-1)
    return _Kept(kept, is_close)


class _Drawn(NamedTuple):
    tokens: Tensor
    is_close: Tensor
    """Whether a draw lies so close to the next token's interval that rounding might decide."""


def _draw(probabilities: Tensor, uniforms: Sequence[float]) -> _Drawn:
    """Draw a token per row, by intervals as long as probabilities."""
    import torch

    # In float64: the sum over a vocabulary would round away the intervals of rare tokens.
    ends = probabilities.double().cumsum(-1)
    whole = ends[:, -1:]  # not quite 1, and less where tokens were left out
    draws = torch.tensor(uniforms, dtype=torch.float64, device=ends.device)[:, None] * whole
    # Right-hand side: a token of probability zero, whose interval is empty, is never chosen.
    tokens = torch.searchsorted(ends, draws, right=True).clamp(max=probabilities.shape[-1] - 1)
    end = ends.gather(-1, tokens)
    start = end - probabilities.double().gather(-1, tokens)
    is_at_end = end - draws < SHARE_MARGIN * end * (whole - end)
    is_at_start = draws - start < SHARE_MARGIN * start * (whole - start)
    return _Drawn(tokens[:, 0], (is_at_end | is_at_start)[:, 0])
