"""Pages by path: what the server answers and what a bundle holds."""

import json
import math
from datetime import datetime
from typing import Any

from carryover.tasks.services.errors import UserError
from carryover.tasks.viewer.episode_columns import episode_columns
from carryover.tasks.viewer.episode_page import episode_page
from carryover.tasks.viewer.study_page import run_page, study_page
from carryover.tasks.viewer.warehouse_rows import Ask


def answer(ask: Ask, plan_digest: str, path: str) -> dict[str, Any]:
    """Return the values behind a path.

    Raise `UserError` for an unknown path.
    """
    match path.split("/"):
        case ["study"]:
            return study_page(ask, plan_digest)
        case ["run"]:
            return run_page(ask, plan_digest)
        case ["episodes"]:
            return episode_columns(ask, plan_digest)
        case ["episode", episode_id]:
            return episode_page(ask, episode_id)
        case _:
            raise UserError(f"no page {path!r}; choose from study, run, episodes, episode/ID")


def as_json(values: Any) -> str:
    """Return values as JSON; times are ISO 8601, and what JSON cannot say is null."""
    try:
        return _dump(values)
    except ValueError:
        return _dump(_finite(values))


def _dump(values: Any) -> str:
    return json.dumps(values, default=_told, separators=(",", ":"), allow_nan=False)


def _told(value: Any) -> str:
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value)


def _finite(values: Any) -> Any:
    """Return values with null for infinities and what is no number."""
    if isinstance(values, float) and not math.isfinite(values):
        return None
    if isinstance(values, dict):
        return {name: _finite(value) for name, value in values.items()}
    if isinstance(values, list | tuple):
        return [_finite(value) for value in values]
    return values
