import os
import shutil
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path
from types import NoneType
from typing import Any, Literal, TypeVar, get_args, get_origin

import pytest
from duckdb import DuckDBPyConnection

from carryover.storage.warehouse.connection import open_memory
from carryover.storage.warehouse.marts import refresh_marts
from carryover.storage.warehouse.merger import merge
from carryover.storage.warehouse.migrations import migrate
from carryover.storage.zone.landing import LandingZone
from carryover.storage.zone.schemas import to_arrow
from carryover.tasks.services.whole_files import TEMPORARY_SUFFIX
from carryover.tasks.traces.result_rows import StatisticRow
from carryover.tasks.traces.rows import EpisodeRow, InstanceRow, ItemRow, Row, StepRow, ToolCallRow, TurnRow
from carryover.tasks.traces.study_rows import RunRow
from carryover.tasks.traces.tables import TABLES
from carryover.tasks.traces.training_rows import TrainingExampleRow, TrainingMetricRow, TrainingRunRow
from tests.empty_warehouse import copy_empty_warehouse
from tests.flattening import flat

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
    described = {"family": "knapsack", "contract_json": "{}"}
    plain |= {name: value for name, value in described.items() if name in plain}
    return model.model_validate({"run_id": "run", **{k: v for k, v in plain.items() if k != "run_id"}, **values})


def build_episode(episode_id: str, run_id: str = "run", step_count: int = 2, **values: Any) -> dict[str, list[Row]]:
    """An episode's rows; `code` of every step, and the score, tell which execution they are from."""
    code = values.pop("code", "x = 1")
    steps = range(1, step_count + 1)
    return {
        "episodes": [build_row(EpisodeRow, run_id=run_id, episode_id=episode_id, **{"plan_digest": "plan", **values})],
        "turns": [build_row(TurnRow, run_id=run_id, episode_id=episode_id, turn=turn) for turn in steps],
        "steps": [
            build_row(StepRow, run_id=run_id, episode_id=episode_id, step=step, turn=step, code=code) for step in steps
        ],
    }


def _instance(instance_id: str, split: str, weight: int) -> list[Row]:
    """Two items, one of them allowed and optimal."""
    return [
        build_row(
            InstanceRow,
            instance_id=instance_id,
            split=split,
            item_count=2,
            capacity=weight,
            inspection_budget=2,
            optimal_item_ids=(f"{instance_id}-a",),
            optimal_value=7,
            optimal_weight=weight,
        ),
        *(
            build_row(
                ItemRow,
                instance_id=instance_id,
                item_id=f"{instance_id}-{name}",
                weight=weight,
                value=7,
                is_allowed=name == "a",
                is_optimal=name == "a",
            )
            for name in "ab"
        ),
    ]


def _played_episode(episode_id: str, contract: str, **values: object) -> list[Row]:
    """Two turns with a step each; the first calls a tool and binds `x`."""
    kept = ("x",) if contract == "persistent" else ()
    steps = [
        build_row(
            StepRow,
            episode_id=episode_id,
            step=1,
            turn=1,
            call_site_count=1,
            executed_call_count=1,
            active_globals=kept,
        ),
        build_row(StepRow, episode_id=episode_id, step=2, turn=2, active_globals_before=kept, active_globals=kept),
    ]
    counts = {
        "turn_count": 2,
        "max_turns": 40,
        "step_count": 2,
        "call_site_count": 1,
        "executed_call_count": 1,
        "prompt_tokens": 30,
        "cached_prompt_tokens": 5,
        "completion_tokens": 4,
        "score": 0.5,
        "is_contract_verified": True,
    }
    episode = build_row(EpisodeRow, episode_id=episode_id, runtime_contract=contract, **{**counts, **values})
    tokens = [(0, 0, 0), (15, 0, 2), (15, 5, 2)]
    turns = [
        build_row(
            TurnRow,
            episode_id=episode_id,
            turn=turn,
            prompt_tokens=prompt,
            cached_prompt_tokens=cached,
            completion_tokens=completion,
        )
        for turn, (prompt, cached, completion) in enumerate(tokens)
    ]
    return [episode, *turns, *steps, build_row(ToolCallRow, episode_id=episode_id, step=1, call=1)]


def _study() -> list[Row]:
    """A run with a training and an evaluation instance, a teacher's pair of episodes and one in each of two cells."""
    arms = ("persistent", "stateless")
    example = {"status": "retained", "retention": "paired", "instance_id": "train", "position": 0}
    cell = {"purpose": "evaluation", "split": "evaluation", "instance_id": "evaluation", "train_contract": "stateless"}
    return [
        build_row(RunRow),
        *_instance("train", "train", weight=3),
        *_instance("evaluation", "evaluation", weight=4),
        *flat(_played_episode(f"t-{arm}", arm, split="train", instance_id="train") for arm in arms),
        *flat(_played_episode(f"e-{arm}", arm, **cell) for arm in arms),
        *(
            build_row(TrainingExampleRow, dataset_id=arm, contract=arm, episode_id=f"t-{arm}", **example)
            for arm in arms
        ),
        build_row(TrainingRunRow, training_run_id="r", token_count=10, final_loss=0.5),
        build_row(TrainingMetricRow, training_run_id="r", optimizer_step=1, loss=0.7),
        build_row(StatisticRow, statistic_id="s", pair_count=2, p_value=0.1, p_holm=0.2, low=-1.0, high=1.0),
    ]


def insert(connection: DuckDBPyConnection, rows: list[Row]) -> None:
    for table, model in TABLES.items():
        if own := [row for row in rows if type(row) is model]:
            connection.register("rows", to_arrow(own))
            connection.execute(f"insert into main.{table} by name from rows")
            connection.unregister("rows")


@pytest.fixture(scope="session")
def study_rows() -> list[Row]:
    return _study()


@pytest.fixture(scope="session")
def insert_rows() -> Callable[[DuckDBPyConnection, list[Row]], None]:
    return insert


@pytest.fixture(scope="session")
def make_row() -> Callable[..., Row]:
    return build_row


@pytest.fixture(scope="session")
def make_episode() -> Callable[..., dict[str, list[Row]]]:
    return build_episode


@pytest.fixture(scope="session")
def sound_study(study_rows, insert_rows) -> DuckDBPyConnection:
    connection = open_memory()
    migrate(connection)
    refresh_marts(connection, is_materialized=False)
    insert_rows(connection, study_rows)
    return connection


@pytest.fixture
def study(sound_study) -> Iterator[DuckDBPyConnection]:
    """The sound study; what a test does to it is undone."""
    sound_study.begin()
    yield sound_study
    sound_study.rollback()


@pytest.fixture(scope="session")
def empty_warehouse() -> DuckDBPyConnection:
    connection = open_memory()
    migrate(connection)
    refresh_marts(connection, is_materialized=False)
    return connection


@pytest.fixture
def landing(tmp_path) -> LandingZone:
    return LandingZone(tmp_path / "landing")


@pytest.fixture(scope="session")
def empty_study(tmp_path_factory) -> Path:
    """A folder of a warehouse that has merged nothing, made as a copy: every first merge would compute empty marts."""
    folder = tmp_path_factory.mktemp("empty_study")
    copy_empty_warehouse(folder / "study.duckdb")
    merge(LandingZone(folder / "landing"), folder / "study.duckdb")
    return folder


@pytest.fixture
def path(tmp_path, empty_study) -> Path:
    shutil.copytree(empty_study, tmp_path, dirs_exist_ok=True)
    return tmp_path / "study.duckdb"


@pytest.fixture(scope="session")
def merged_study(tmp_path_factory) -> Path:
    """A folder of a warehouse that has merged one episode."""
    folder = tmp_path_factory.mktemp("merged_study")
    copy_empty_warehouse(folder / "study.duckdb")
    landing = LandingZone(folder / "landing")
    landing.write(build_episode("e", step_count=2, score=0.5, code="total = 0\nprint(total)"), "run")
    merge(landing, folder / "study.duckdb")
    return folder


@pytest.fixture
def merged(landing, tmp_path, merged_study) -> Path:
    shutil.copytree(merged_study, tmp_path, dirs_exist_ok=True)
    return tmp_path / "study.duckdb"


@pytest.fixture
def disk_calls(monkeypatch):
    """Every fsync and replacement of a file from here on, in order; a temporary file is called `temporary`."""
    calls = []
    fsync, replace = os.fsync, Path.replace

    def noted_fsync(descriptor):
        name = Path(f"/proc/self/fd/{descriptor}").readlink().name
        calls.append(("fsync", "temporary" if name.endswith(TEMPORARY_SUFFIX) else name))
        fsync(descriptor)

    def noted_replace(path, target):
        calls.append(("replace", target.name))
        return replace(path, target)

    monkeypatch.setattr(os, "fsync", noted_fsync)
    monkeypatch.setattr(Path, "replace", noted_replace)
    return calls
