"""Rules between fields as JSON schema: Prefect's API refuses what breaks them when a run is submitted."""

from typing import Any


def needs(field: str, needed: str, rule: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return a clause for `dependentSchemas`: a field that is given needs another one, which keeps a rule."""
    is_given = {"properties": {field: {"not": {"type": "null"}}}}
    return {field: {"if": is_given, "then": {"required": [needed], "properties": {needed: rule or {"type": "string"}}}}}
