"""A run: one execution of a flow, as its tasks see it."""

from pathlib import Path
from typing import Self

from pydantic import ConfigDict, Field, model_validator

from carryover.tasks.plans.identity import Stage
from carryover.tasks.plans.study_plan import StudyPlan
from carryover.tasks.services.folders import Folders
from carryover.tasks.services.frozen_model import FrozenModel, needs
from carryover.tasks.services.limits import Prices

_HAS_A_PRICE = {
    "anyOf": [{"required": [kind], "properties": {kind: {"exclusiveMinimum": 0}}} for kind in Prices.model_fields]
}


class Limits(FrozenModel):
    """Limits of a run, apart from its plan.

    The same plan resumes under other limits.
    """

    model_config = ConfigDict(json_schema_extra={"dependentSchemas": needs("max_cost", "prices", _HAS_A_PRICE)})

    max_tokens_total: int | None = Field(
        default=None,
        ge=1,
        description="Most prompt and completion tokens of all served models, over all runs of the plan.",
    )
    max_cost: float | None = Field(
        default=None,
        gt=0,
        description="Most that endpoints given by URL (the teacher's, --endpoint-url) may cost at the given prices; "
        "servers that the study starts are free.",
    )
    prices: Prices = Field(
        default=Prices(),
        description="Prices per million tokens of endpoints given by URL: prompt, cached_prompt, completion.",
    )
    refresh: tuple[Stage, ...] = Field(
        default=(), description="Stages to run again although their cache key is unchanged, e.g. traces,training."
    )

    gpus_per_training: int = Field(
        default=1, ge=1, description="GPUs that share each training meant for a GPU; batch.accumulation is a multiple."
    )

    trainings_per_gpu: int = Field(
        default=1, ge=1, description="Trainings that share a GPU at a time: small models leave most of one idle."
    )

    trainings_at_once: int | None = Field(
        default=None,
        ge=1,
        description="Trainings side by side; by default as many as GPUs have places for, or on a CPU as many as memory "
        "holds, and at most half as many as its processors, or two.",
    )

    @model_validator(mode="after")
    def _cost_needs_prices(self) -> Self:
        if self.max_cost is not None and self.prices.is_free:
            raise ValueError(f"max_cost {self.max_cost} can never be reached without prices; give prices with it")
        return self


class Run(FrozenModel):
    """Context of a run's tasks; cache keys hold its landing zone."""

    run_id: str
    plan: StudyPlan
    home: Path
    """The data folder."""
    landing: str
    """The landing zone, a folder or an fsspec URL."""
    generation: str
    """Identity of the data folder, or of a landing zone outside it: one made anew has another, so that no cached result
    points into the old one."""
    limits: Limits = Limits()

    @property
    def folders(self) -> Folders:
        """Data folder and landing zone."""
        return Folders(home=self.home, landing=self.landing)

    @property
    def cache_identity(self) -> dict[str, str]:
        """Identity of the place that cached results hold for."""
        return {"landing": self.landing, "generation": self.generation}
