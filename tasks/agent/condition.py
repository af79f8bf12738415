"""What one episode is run under: everything that identifies it beside the instance."""

from typing import Literal

from pydantic import BaseModel, ConfigDict

Purpose = Literal["teacher", "evaluation"]
"""What an episode is played for: training traces by a teacher, or the evaluation of a model."""


class Condition(BaseModel):
    """A cell of the study with the factors that may vary beside it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    purpose: Purpose
    variant: str = "main"
    """Arm of an ablation or control; `main` for the study itself."""
    base: str = "teacher"
    """Base that the model was trained from: `scratch`, `common`, `both`, `hub`; `teacher` for teachers."""
    model_name: str
    """Name under which the endpoint knows the model."""
    model_digest: str | None = None
    """Digest of the weights or adapter, where known."""
    train_contract: str | None = None
    """Contract of the training traces; none for the base model and for teachers."""
    runtime_contract: str
    """Contract in force."""
    visibility: Literal["declared", "as_trained"] = "declared"
    """Whether prompt and header follow the runtime in force or the contract of training."""
    header: Literal["names", "none"] = "names"
    """Whether the header lists names; with `none` it tells the runtime alone."""
    bucket: str
    """Difficulty bucket of the instances."""
    split: Literal["train", "evaluation"]
    is_out_of_distribution: bool = False
    """Whether the bucket differs from the one of training."""
    training_seed: int | None = None

    @property
    def shown_contract(self) -> str:
        """The contract that prompt and header tell the model."""
        if self.visibility == "as_trained" and self.train_contract is not None:
            return self.train_contract
        return self.runtime_contract
