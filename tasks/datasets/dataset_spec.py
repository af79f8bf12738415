"""Specs of a trace's validation and of a dataset's selection."""

from typing import Any, Self

from pydantic import Field, model_validator

from carryover.tasks.datasets.conversations import Weight
from carryover.tasks.services.frozen_model import FrozenModel
from carryover.tasks.traces.vocabulary import Labels, Matching, Retention, TextFormat

OPTIONS = ("text_format", "retention", "matching", "labels", "fault_weight")
"""Fields of `DatasetSpec` that are columns of the dataset too, in its files and in the warehouse."""


class ValidationSpec(FrozenModel):
    """Thresholds of data checks and their gate (appendix C.1.1, Table 5)."""

    minimum_score: float = Field(default=0.5, ge=0, le=1)
    """Traces below this normalized optimality are rejected."""
    finish_window: int = Field(default=3, ge=1)
    """One of this many last steps must call `finish`."""
    loop_window: int = Field(default=4, ge=2)
    """The last text is compared with the others of this many last steps; shorter traces have no loop."""
    maximum_loop_similarity: float = Field(default=0.9, ge=0, le=1)
    """A trace whose last text is more similar than this to every compared one is a loop; 1 switches the rule off."""
    maximum_error_density: float = Field(default=0.1, ge=0, le=1)
    """Largest share of steps that may end with a bad error."""
    minimum_yield: float = Field(default=0.5, ge=0, le=1)
    """Share of valid traces per contract under which training stops; ours, Table 5 has 0.70 and 0.79."""
    minimum_recorded_share: float = Field(default=0.98, ge=0, le=1)
    """Share of traces per contract that must have steps and a score; ours."""


class DatasetSpec(FrozenModel):
    """Selection and form of training text (arXiv 2603.01209, appendix C.1)."""

    variant: str = "main"
    """Arm of an ablation; `main` for the study itself."""
    text_format: TextFormat = "paper"
    """The paper's text without header and wrapper, or the messages as inference shows them."""
    retention: Retention = "keep_first"
    """The first valid traces of each arm, or only instances whose traces are valid in every arm."""
    matching: Matching = "episodes"
    """Arms of equal size in episodes, or in training tokens."""
    labels: Labels = "true"
    """Whether an arm holds its own contract's traces, or, as a negative control, a random equal share of each one's."""
    other_share: float = Field(default=0.0, ge=0, le=1, exclude_if=lambda share: share == 0)
    """Share of instances whose traces train the next contract's arm: the other one of two. Excluded from the dump where
    it is 0, so that digests stay stable."""
    fault_weight: Weight = 0
    """Training weight of a reply that met an injected fault: 0 shows it and its repair, 1 has it imitated too."""
    maximum_kept: int = Field(default=1000, ge=1)
    """Traces kept per contract; the rest stays unprocessed."""
    shuffle_seed: int = 42
    """Seed of the one shuffle of instances that every arm follows."""
    maximum_sequence_tokens: int = 16_384
    """L, the context of training; no example is longer, its chat template included."""
    reserved_tokens: int = Field(default=100, ge=0)
    """Tokens of L that stay free; the budget of a trace's cost is L less these."""
    message_overhead_tokens: int = Field(default=4, ge=0)
    """Tokens that a message costs beside its content, by the paper's count, which the budget and Table 5 use."""

    @property
    def token_budget(self) -> int:
        """Largest cost of a trace after truncation, in tokens."""
        return self.maximum_sequence_tokens - self.reserved_tokens

    @property
    def options(self) -> dict[str, Any]:
        """Options by name, as every example of the dataset bears them."""
        return {name: getattr(self, name) for name in OPTIONS}

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.token_budget <= 0:
            raise ValueError(
                f"maximum_sequence_tokens {self.maximum_sequence_tokens} leaves nothing beside reserved_tokens "
                f"{self.reserved_tokens}; raise the first or lower the second"
            )
        if self.other_share and self.labels != "true":
            raise ValueError(f"labels {self.labels!r} are mixed already; leave other_share {self.other_share} out")
        if self.retention == "paired" and self.matching == "tokens":
            raise ValueError(
                "paired retention gives every arm the same instances, so arms cannot be cut to equal tokens; "
                "choose retention keep_first or matching episodes"
            )
        return self
