"""The event parser, the recorder and the marts, on steps of models that learnt, tell what the kept rows hold of them.

`learnt_episodes.json` holds three episodes of `laptop_full` (one trained persistent at home, both mismatches) as the
study landed them: the episodes, their steps, and their errors; name events are read from the steps' code anew, and
whether an error is a missing name from its type and message.
"""

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from carryover.storage.warehouse.connection import open_memory
from carryover.storage.warehouse.marts import refresh_marts
from carryover.storage.warehouse.migrations import migrate
from carryover.tasks.agent.recorder import EpisodeRecorder
from carryover.tasks.knapsack.environment import TOOL_NAMES
from carryover.tasks.runtime.results import BlockError
from carryover.tasks.traces.events import name_event_rows, parse_block
from carryover.tasks.traces.rows import EpisodeRow, ErrorRow, NameEventRow, StepRow
from tests.flattening import flat

LANDED = json.loads(Path(__file__).with_name("learnt_episodes.json").read_text(encoding="utf-8"))
KEPT = Path(str(files("carryover.sql") / "results" / "laptop_full" / "episodes.parquet"))
METRICS = (
    *("total_tokens", "tokens_per_turn", "turn_count", "step_count", "call_site_count", "score"),
    *("import_count", "imports_per_step", "user_name_count", "state_footprint", "unparsed_step_count"),
    *("context_lifespan", "interpreter_lifespan", "state_utilization", "redefinitions_per_step"),
    *("missing_name_count", "has_missing_name", "interpreter_error_count", "tool_error_count", "failure_class"),
    *("finish_category", "condition", "is_counted"),
)


def name_events(step: StepRow) -> list[NameEventRow]:
    place: dict[str, Any] = {"run_id": step.run_id, "episode_id": step.episode_id, "step": step.step}
    parsed = parse_block(step.code, TOOL_NAMES)
    return name_event_rows(parsed, **place, active_globals_before=step.active_globals_before or ())


def recognised(landed: dict[str, Any]) -> ErrorRow:
    """Return a landed error with what the recorder says today of whether a name is missing."""
    recorded = EpisodeRecorder(landed["run_id"], landed["episode_id"])
    error = BlockError(landed["kind"], landed["error_type"], landed["message"])
    row = recorded.record_block_error(landed["turn"], landed["step"], error)
    return ErrorRow.model_validate(landed | {"is_missing_name": row.is_missing_name})


@pytest.fixture(scope="module")
def measured(insert_rows) -> pl.DataFrame:
    steps = [StepRow.model_validate(step) for step in LANDED["steps"]]
    rows = flat(name_events(step) for step in steps)
    episodes = [EpisodeRow.model_validate(episode) for episode in LANDED["episodes"]]
    errors = [recognised(error) for error in LANDED["errors"]]
    connection = open_memory()
    migrate(connection)
    insert_rows(connection, [*episodes, *steps, *errors, *rows])
    refresh_marts(connection, is_materialized=False)
    return connection.sql("select * from marts.episode_metrics order by episode_id").pl()


def kept() -> pl.DataFrame:
    ids = [episode["episode_id"] for episode in LANDED["episodes"]]
    return pl.read_parquet(KEPT).filter(pl.col("episode_id").is_in(ids)).sort("episode_id")


def test_the_episodes_show_what_each_model_learnt():
    rows = kept().rows_by_key("condition", named=True, unique=True)
    assert set(rows) == {"P->P", "P->S", "S->P"}
    assert rows["P->S"]["missing_name_count"] > 0 == rows["P->P"]["missing_name_count"]
    assert rows["S->P"]["imports_per_step"] > rows["P->P"]["imports_per_step"]
    assert rows["P->P"]["state_utilization"] > 0 == rows["S->P"]["state_utilization"]


@pytest.mark.parametrize("metric", METRICS)
def test_metric_of_the_marts_is_that_of_kept_rows(metric, measured):
    assert measured[metric].to_list() == kept()[metric].to_list()


@pytest.mark.parametrize("count", ["is_parsed", "import_count", "call_site_count"])
def test_the_parser_counts_in_a_step_what_was_landed(count):
    steps = [StepRow.model_validate(step) for step in LANDED["steps"]]
    assert [getattr(parse_block(step.code, TOOL_NAMES), count) for step in steps] == [
        getattr(step, count) for step in steps
    ]


def test_the_names_that_are_missing_are_those_that_were_landed():
    missing = [error["is_missing_name"] for error in LANDED["errors"]]
    assert (missing.count(True), missing.count(False)) == (3, 51)
    assert [recognised(error).is_missing_name for error in LANDED["errors"]] == missing
