"""Limits of tokens and money, and interruption of a run."""

import threading
from dataclasses import dataclass, field
from typing import NamedTuple

from pydantic import Field

from carryover.tasks.services.errors import UserError
from carryover.tasks.services.frozen_model import FrozenModel

_interrupted: set[str] = set()
"""Interrupted runs, by which the waiting thread notifies the workers."""


class Prices(FrozenModel):
    """Prices of an endpoint, in one currency per million tokens."""

    prompt: float = Field(default=0.0, ge=0, description="Per million prompt tokens that are not cached.")
    cached_prompt: float | None = Field(
        default=None,
        ge=0,
        description="Per million prompt tokens from the server's cache; as much as the others without a number.",
    )
    completion: float = Field(default=0.0, ge=0, description="Per million tokens of replies.")

    @property
    def is_free(self) -> bool:
        """Whether nothing has a price."""
        return not (self.prompt or self.cached_prompt or self.completion)

    def cost(self, spent: "Spent") -> float:
        """Return what the tokens cost."""
        fresh = spent.prompt_tokens - spent.cached_prompt_tokens
        cached_prompt = self.prompt if self.cached_prompt is None else self.cached_prompt
        prompts = fresh * self.prompt + spent.cached_prompt_tokens * cached_prompt
        return (prompts + spent.completion_tokens * self.completion) / 1_000_000


class Spent(NamedTuple):
    """Tokens by kind; `prompt_tokens` holds the cached ones too."""

    prompt_tokens: int = 0
    cached_prompt_tokens: int = 0
    completion_tokens: int = 0

    def plus(self, other: "Spent") -> "Spent":
        """Return the sum by kind."""
        return Spent(*(mine + theirs for mine, theirs in zip(self, other, strict=True)))


class LimitReachedError(UserError):
    """A limit is reached: the run stops cleanly.

    Resume with a higher one.
    """


@dataclass(eq=False)
class Meter:
    """Counts what a plan has spent and says when to stop.

    Safe to use from several threads.
    """

    spent: Spent
    billed: Spent
    """Those of the spent tokens that cost money."""
    prices: Prices
    max_tokens_total: int | None
    max_cost: float | None
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)
    _failure: Exception | None = field(default=None, init=False)

    def add(self, spent: Spent, *, is_billed: bool) -> None:
        """Count an episode's tokens.

        They cost money where the endpoint is not the study's own.
        """
        with self._lock:
            self.spent = self.spent.plus(spent)
            if is_billed:
                self.billed = self.billed.plus(spent)

    def stop(self, failure: Exception) -> None:
        """Stop the study with this failure: no further episode starts."""
        with self._lock:
            self._failure = self._failure or failure

    def check(self, *, is_billed: bool = True) -> None:
        """Let another episode start.

        One that is not billed may where the money is spent.

        Raise `LimitReachedError` at a limit, or the failure that the study ends with.
        """
        with self._lock:
            if self._failure is not None:
                raise self._failure
            tokens = self.spent.prompt_tokens + self.spent.completion_tokens
            cost = self.prices.cost(self.billed)
        if self.max_tokens_total is not None and tokens >= self.max_tokens_total:
            met = f"{tokens:,} tokens are spent of max_tokens_total {self.max_tokens_total:,}"
        elif is_billed and self.max_cost is not None and cost >= self.max_cost:
            met = f"{cost:.2f} is spent of max_cost {self.max_cost:.2f}"
        else:
            return
        raise LimitReachedError(f"{met}; progress is saved; resume with a higher limit")


class InterruptedRunError(UserError):
    """The run is interrupted, and resumes at the next start.

    Its work ends as it would at a limit.
    """


def interrupt(run_id: str) -> None:
    """Let the work of a run end, in every thread."""
    _interrupted.add(run_id)


def check_uninterrupted(run_id: str) -> None:
    """Raise `InterruptedRunError` if the run is interrupted."""
    if run_id in _interrupted:
        raise InterruptedRunError(f"run {run_id} is interrupted; progress is saved; run again to resume")
