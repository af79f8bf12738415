"""Specs of a night's episodes, and of the thresholds for a regression."""

from typing import Self

from pydantic import ConfigDict, Field, model_validator

from carryover.tasks.agent.credentials import PlainAddress
from carryover.tasks.plans.models import StudyModel
from carryover.tasks.plans.shards import ShardSpec
from carryover.tasks.plans.study_plan import StudyPart, StudyPlan
from carryover.tasks.services.frozen_model import FrozenModel, needs
from carryover.tasks.serving.serving_spec import ServingSpec

SERIES = "reevaluation"
"""Variant of the episodes, so that the study's own tables stay as they are."""


def study_variant(plan: StudyPlan) -> str:
    """Return the study's own variant, without ablations and controls.

    It is that of the first part.
    """
    return plan.parts[0].variant


class Thresholds(FrozenModel):
    """When a significant difference is a regression or an improvement."""

    score_drop: float = Field(
        default=0.05, ge=0, le=1, description="Smallest drop of the mean score that is a regression."
    )
    token_rise: float = Field(
        default=0.1, ge=0, description="Smallest rise of the tokens per episode that is a regression, as a share."
    )
    alpha: float = Field(default=0.05, gt=0, lt=1, description="Level of the paired tests, after Holm's correction.")


class NightObject(FrozenModel):
    """Episodes of a night: the study's models, or an endpoint's."""

    model_config = ConfigDict(
        json_schema_extra={
            "dependentSchemas": needs("endpoint_model", "endpoint_url") | needs("endpoint_key_variable", "endpoint_url")
        }
    )

    endpoint_url: PlainAddress | None = Field(
        default=None, description="OpenAI-compatible endpoint that answers instead of a server started here."
    )
    endpoint_model: str | None = Field(
        default=None, description="Name of one model at that endpoint to play; the study's models without it."
    )
    endpoint_key_variable: str | None = Field(
        default=None, description="Environment variable with its key, or secret/NAME for a Secret block."
    )
    seeds: int = Field(
        default=0,
        ge=0,
        description="Decoding seeds: 0 for the study's own, another number for others, in a series of its own.",
    )

    @model_validator(mode="after")
    def _endpoint_has_an_address(self) -> Self:
        for field in ("endpoint_model", "endpoint_key_variable"):
            if self.endpoint_url is None and getattr(self, field) is not None:
                raise ValueError(f"{field} {getattr(self, field)!r} requires endpoint_url")
        return self

    @property
    def series(self) -> str:
        """Variant under which the episodes land."""
        if self.seeds == 0:
            return SERIES
        return f"{SERIES}-seeds-{self.seeds}"

    def serving(self, own: ServingSpec) -> ServingSpec:
        """Return the serving of the study, or of the endpoint."""
        if self.endpoint_url is None:
            return own
        return own.elsewhere(self.endpoint_url, self.endpoint_key_variable)

    def part(self, part: StudyPart) -> StudyPart:
        """Return a part as the night plays it.

        Its own evaluations, without arms of other rules.
        """
        own = tuple(each for each in part.evaluations if each.variant is None)
        if self.endpoint_model is None:
            return part.model_copy(update={"evaluations": own})
        # An untrained base may play under rules of its own, of fewer turns: under both, a cell would mix two games.
        of_trained = tuple(each for each in own if each.has_trained_rows) or own
        rows = {"has_base_rows": True, "has_trained_rows": False, "has_scripted_rows": False}
        played = tuple(each.model_copy(update=rows) for each in of_trained)
        return part.model_copy(update={"base": "endpoint", "evaluations": played})

    def model(self) -> StudyModel | None:
        """Return the endpoint's model, whose contract and weights are unknown.

        None for the study's models.
        """
        if self.endpoint_model is None:
            return None
        identity = f"{self.endpoint_model} at {self.endpoint_url}"
        return StudyModel(name=self.endpoint_model, kind="base", path="", identity=identity)

    def shard(self, shard: ShardSpec) -> ShardSpec:
        """Return a shard in the night's series, with its decoding seeds."""
        condition = shard.condition.model_copy(update={"variant": self.series})
        first = self.seeds * shard.replicates
        return shard.model_copy(update={"condition": condition, "first_replicate": first})
