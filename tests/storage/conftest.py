from collections.abc import Callable
from datetime import UTC, datetime
from enum import Enum
from types import NoneType
from typing import Any, Literal, TypeVar, get_args, get_origin

import pytest

from storage.landing import LandingZone
from tasks.traces.rows import EpisodeRow, Row, StepRow, TurnRow

RowType = TypeVar("RowType", bound=Row)


def _plain_value(annotation: Any) -> Any:
    if get_origin(annotation) is Literal:
        return get_args(annotation)[0]
    if NoneType in get_args(annotation):
        return None
    if annotation == tuple[str, ...]:
        return ()
    if annotation is datetime:
        return datetime(2026, 1, 1, tzinfo=UTC)
    if issubclass(annotation, Enum):
        return next(iter(annotation))
    return annotation()


def build_row(model: type[RowType], **values: Any) -> RowType:
    plain = {name: _plain_value(field.annotation) for name, field in model.model_fields.items() if name not in values}
    return model.model_validate({"run_id": "run", **{k: v for k, v in plain.items() if k != "run_id"}, **values})


def build_episode(episode_id: str, run_id: str = "run", step_count: int = 2, **values: Any) -> dict[str, list[Row]]:
    """An episode's rows; `code` of every step, and the score, tell which execution they are from."""
    code = values.pop("code", "x = 1")
    steps = range(1, step_count + 1)
    return {
        "episodes": [build_row(EpisodeRow, run_id=run_id, episode_id=episode_id, plan_digest="plan", **values)],
        "turns": [build_row(TurnRow, run_id=run_id, episode_id=episode_id, turn=turn) for turn in steps],
        "steps": [
            build_row(StepRow, run_id=run_id, episode_id=episode_id, step=step, turn=step, code=code) for step in steps
        ],
    }


@pytest.fixture
def make_row() -> Callable[..., Row]:
    return build_row


@pytest.fixture
def make_episode() -> Callable[..., dict[str, list[Row]]]:
    return build_episode


@pytest.fixture
def landing(tmp_path) -> LandingZone:
    return LandingZone(tmp_path / "landing")
