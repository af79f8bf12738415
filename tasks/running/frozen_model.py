"""The base of values that cross a boundary: specs, results and records."""

from pydantic import BaseModel, ConfigDict


class FrozenModel(BaseModel):
    """A model that never changes and refuses fields that it does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid")
