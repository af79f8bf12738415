"""Settings of an import, for what a recording leaves out."""

import re
from typing import Literal, Self

from pydantic import Field, field_validator, model_validator

from carryover.tasks.knapsack.knapsack_spec import open_bucket
from carryover.tasks.readers.trace import contract_name
from carryover.tasks.services.frozen_model import FrozenModel
from carryover.tasks.traces.vocabulary import ContractName, Purpose, Split

ImportScale = Literal["import", "paper"]
"""Scale of imported rows."""
_PLAN = re.compile(r"[A-Za-z][\w.-]*")


class ImportSetting(FrozenModel):
    """Columns of imported episodes, for recordings that do not declare them."""

    run_id: str
    runtime_contract: str
    """Contract in force, for recordings that declare none."""
    train_contract: str | None = None
    """Contract of the model's training traces; None for a base model and for a teacher."""
    purpose: Purpose = "evaluation"
    """Whether the episodes are a teacher's (Table 1) or a model under evaluation (the other tables)."""
    plan: str = "import"
    """Name and digest of the plan that the rows are under: what `carryover tables --plan` takes."""
    scale: ImportScale = "import"
    """`paper` for episodes of Qwen3-8B, or of a teacher named gemini-3-flash, on the paper's instances: their tables
    then show differences from the published values."""
    variant: str = "main"
    base: str = "hub"
    """Base that an evaluated model was trained from."""
    model_name: str = "imported"
    family: str | None = Field(default=None, exclude_if=lambda family: family is None)
    """Task family; by default the paper's for its own instances and its repository's traces, else `foreign`."""
    bucket: str = "easy"
    split: Split | None = None
    """Split of the instances; by default `train` for a teacher and `evaluation` otherwise."""
    tool_call_cap: int | None = None
    """Tool calls allowed per turn; None if there was no cap or it is unknown."""
    max_turns: int = 40
    """Replies after which an episode ended."""

    @property
    def episode_base(self) -> str:
        """The column `base`, which says `teacher` of a teacher."""
        if self.purpose == "teacher":
            return "teacher"
        return self.base

    @property
    def episode_split(self) -> Split:
        """The split, given or by the purpose."""
        return self.split or ("train" if self.purpose == "teacher" else "evaluation")

    def choose_model(self, declared: str | None) -> str:
        """Return the model's name: given, else declared."""
        is_given = self.model_name != type(self).model_fields["model_name"].default
        if is_given or declared is None:
            return self.model_name
        return declared

    @field_validator("runtime_contract", "train_contract")
    @classmethod
    def _is_a_contract(cls, contract: str | None) -> str | None:
        name = contract_name(contract)
        if name is not None and name not in set(ContractName):
            raise ValueError(f"unknown contract {contract!r}; choose from {', '.join(ContractName)}")
        return name

    @model_validator(mode="after")
    def _fields_fit_together(self) -> Self:
        open_bucket(self.bucket)
        if not _PLAN.fullmatch(self.plan):
            raise ValueError(
                f"bad plan name {self.plan!r}; begin with a letter and use letters, digits, '.', '-' and '_'"
            )
        if self.purpose == "teacher" and self.train_contract is not None:
            raise ValueError(
                f"a teacher has no train contract, but {self.train_contract!r} is given; leave it out or import with "
                "purpose evaluation"
            )
        return self
