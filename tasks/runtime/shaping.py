"""The model's view of output and value: whole, error or preview."""

from typing import Annotated, Literal, NamedTuple

from pydantic import Field

from carryover.tasks.services.frozen_model import FrozenModel


class Shaped(NamedTuple):
    """The output as the model sees it."""

    text: str
    kept_as: str | None = None
    """Variable that holds the whole output."""


class WholeOutput(FrozenModel):
    """Everything is shown, as in the study (arXiv 2603.01209)."""

    kind: Literal["whole"] = "whole"

    def shape(self, output: str, step: int, *, can_keep: bool) -> Shaped:
        """Return the output as it is."""
        return Shaped(output)


class SizeError(FrozenModel):
    """Replaces an output over the limit by an error.

    arXiv 2601.01569, observation shaping.
    """

    kind: Literal["size_error"] = "size_error"
    limit: int = Field(default=5000, gt=0)
    """Characters; the default of CaveAgent's repository."""

    def shape(self, output: str, step: int, *, can_keep: bool) -> Shaped:
        """Return the output, or what is wrong with its length."""
        if len(output) <= self.limit:
            return Shaped(output)
        return Shaped(
            f"The output has {len(output)} characters, {self.limit} are allowed, so nothing of it is shown. "
            "Print a summary, a part, or a count instead."
        )


class Preview(FrozenModel):
    """Shows an output's two ends; a variable keeps the whole."""

    kind: Literal["preview"] = "preview"
    limit: int = Field(default=5000, gt=0)
    """Characters."""

    def shape(self, output: str, step: int, *, can_keep: bool) -> Shaped:
        """Return the output, or its ends and the whole's name."""
        if len(output) <= self.limit:
            return Shaped(output)
        name = None
        if can_keep:
            name = f"output_{step}"
        half = self.limit // 2
        gap = f"{len(output) - 2 * half} characters left out; " + (
            f"the whole is the str {name}" if name is not None else "ask for less to see them"
        )
        return Shaped(f"{output[:half]}\n... [{gap}] ...\n{output[-half:]}", kept_as=name)


Shaping = Annotated[WholeOutput | SizeError | Preview, Field(discriminator="kind")]
"""One of the policies, by its `kind`."""
