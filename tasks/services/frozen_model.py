"""The base of values that cross a boundary: specs, results and records."""

from typing import Any

from pydantic import BaseModel, ConfigDict


class FrozenModel(BaseModel):
    """An immutable model that refuses unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def needs(field: str, needed: str, rule: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return a clause for `dependentSchemas`: one field needs another.

    Prefect's API refuses what breaks it when a run is submitted.
    """
    is_given = {"properties": {field: {"not": {"type": "null"}}}}
    return {field: {"if": is_given, "then": {"required": [needed], "properties": {needed: rule or {"type": "string"}}}}}
