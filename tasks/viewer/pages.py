"""Pages by path: what the server answers and what a bundle holds."""

import json
import math
from collections.abc import Callable
from datetime import datetime
from typing import Any

from carryover.tasks.analysis.asking import Ask
from carryover.tasks.services.errors import UserError
from carryover.tasks.viewer.episode_columns import episode_columns
from carryover.tasks.viewer.episode_page import episode_page
from carryover.tasks.viewer.study_page import run_page, study_page
from carryover.tasks.viewer.study_tables import figures_page, tables_page
from carryover.tasks.viewer.suites_page import suites_page
from carryover.tasks.viewer.training_page import training_page

PAGES: dict[str, Callable[[Ask, str], dict[str, Any]]] = {
    "study": study_page,
    "episodes": episode_columns,
    "tables": tables_page,
    "figures": figures_page,
    "training": training_page,
    "suites": suites_page,
    "run": run_page,
}
"""Functions that answer for a plan, by path."""


def answer(ask: Ask, plan_digest: str, path: str) -> dict[str, Any]:
    """Return the values behind a path.

    Raise `UserError` for an unknown path.
    """
    found = PAGES.get(path)
    if found is not None:
        return found(ask, plan_digest)
    kind, _, episode_id = path.partition("/")
    if kind == "episode" and episode_id:
        return episode_page(ask, episode_id)
    raise UserError(f"no page {path!r}; choose from {', '.join(PAGES)}, episode/ID")


def as_json(values: Any) -> str:
    """Return values as JSON, times as ISO 8601, others as null."""
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
