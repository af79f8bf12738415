"""Marts brought up to date bundle by bundle hold the rows of marts computed at once, in whatever order bundles come."""

import random
import re
from importlib.resources import files

import pytest

from carryover.storage.warehouse.mart_sources import read_mart_sources
from carryover.storage.warehouse.marts import refresh_marts
from carryover.storage.zone.schemas import EPISODE_CHILDREN
from carryover.tasks.traces.result_rows import StatisticRow
from carryover.tasks.traces.rows import ErrorRow, InstanceRow, NameEventRow
from carryover.tasks.traces.vocabulary import FinishReason
from tests.empty_warehouse import open_empty_memory
from tests.flattening import flat

PER_EPISODE = ("episode_behaviour", "episode_failures", "episode_metrics")
SUMMARIES = (
    "evaluated_buckets",
    "evaluated_cells",
    "failure_counts",
    "judged_settings",
    "measured_behaviour",
    "reading_means",
    "score_comparisons",
    "teacher_labels",
    "token_sensitivity",
)


@pytest.fixture
def make_rows(make_row, make_episode):
    def episode(episode_id, *, instance_id="i1", attempt=0, contract="persistent", **values):
        """An episode of three steps that keeps `x`, and ends with an error where another attempt follows."""
        tables = make_episode(
            episode_id,
            step_count=3,
            purpose="evaluation",
            instance_id=instance_id,
            runtime_contract=contract,
            attempt=attempt,
            finish_reason=values.pop("finish_reason", FinishReason.FINISH_TOOL),
            score=len(episode_id) % 3 / 2,
            weight_taken=values.pop("weight_taken", 4),
            inspected_count=values.pop("inspected_count", 1),
            **values,
        )
        bind = make_row(NameEventRow, episode_id=episode_id, step=1, sequence=0, kind="bind", name="x")
        read = make_row(NameEventRow, episode_id=episode_id, step=3, sequence=0, kind="read", name="x")
        error = make_row(ErrorRow, episode_id=episode_id, turn=2, step=2, kind="interpreter", is_missing_name=True)
        return [*flat(tables.values()), bind, read, error]

    return episode


@pytest.fixture
def merge_rows(insert_rows):
    def merge(connection, rows) -> str:
        insert_rows(connection, rows)
        connection.execute("insert into main.merged_bundles select uuid(), 'run', 'landing', 1, now()")
        return refresh_marts(connection)

    return merge


@pytest.fixture
def base(make_row, make_rows):
    """Instance `late` has not landed, `again` is a second attempt whose first one has not either."""
    return [
        make_row(InstanceRow, instance_id="i1", capacity=10, inspection_budget=2),
        *flat(make_rows(f"base-{number}", instance_id=f"other-{number}") for number in range(12)),
        *make_rows("early", instance_id="late"),
        *make_rows("again", attempt=1),
        *make_rows("failed", contract="stateless", finish_reason=FinishReason.ERROR),
    ]


@pytest.fixture
def bundles(make_row, make_rows):
    def statistic(analysis, **values):
        group = {"plan_digest": "plan", "visibility": "declared", "header": "names", "runtime_a": "persistent"}
        named = {"analysis": analysis, "metric": "score", "interval_kind": "percentile"}
        return make_row(StatisticRow, statistic_id=analysis, **group, **named, **values)

    return [
        [make_row(InstanceRow, instance_id="late", capacity=8, inspection_budget=4)],
        make_rows("first", finish_reason=FinishReason.ERROR),
        make_rows("retried", contract="stateless", attempt=1),
        [*make_rows("of-another-plan", plan_digest="other"), *make_rows("new-one", instance_id="i2")],
        [statistic("mean", low=0.1, high=0.9), statistic("wilcoxon", train_a="persistent", p_value=0.5)],
    ]


def _open(rows, merge_rows):
    connection = open_empty_memory()
    merge_rows(connection, rows)
    return connection


def _marts(connection) -> dict[str, list[tuple]]:
    return {name: connection.sql(f"from marts.{name} order by all").fetchall() for name in (*PER_EPISODE, *SUMMARIES)}


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_increments_in_any_order_give_what_a_rebuild_gives(base, bundles, merge_rows, seed):
    at_once = _open([*base, *flat(bundles)], merge_rows)
    connection = _open(base, merge_rows)
    random.Random(seed).shuffle(bundles)
    assert [merge_rows(connection, bundle) for bundle in bundles] == ["increment"] * len(bundles)
    assert _marts(connection) == _marts(at_once)


def test_earlier_attempt_and_episode_without_instance_are_measured_again(base, bundles, merge_rows):
    connection = _open(base, merge_rows)

    def state() -> list[tuple]:
        return connection.sql(
            "select episode_id, is_last_attempt, capacity_use from marts.episode_metrics "
            "where episode_id in ('early', 'failed') order by all"
        ).fetchall()

    assert state() == [("early", True, None), ("failed", True, 0.4)]
    merge_rows(connection, bundles[0])
    merge_rows(connection, bundles[2])
    assert state() == [("early", True, 0.5), ("failed", False, 0.4)]


def test_an_episode_of_unknown_weight_is_measured_again_when_its_instance_lands(make_row, make_rows, merge_rows):
    weightless = make_rows("weightless", instance_id="late", weight_taken=None)
    connection = _open([*make_rows("one"), *weightless], merge_rows)
    landed = make_row(InstanceRow, instance_id="late", capacity=8, inspection_budget=4)
    assert merge_rows(connection, [landed]) == "increment"
    query = "select inspection_budget_use from marts.episode_metrics where episode_id = 'weightless'"
    assert connection.sql(query).fetchall() == [(0.25,)]


@pytest.mark.parametrize(
    "uncounted",
    [
        {"instance_id": "i3"},
        {"instance_id": "i1", "weight_taken": None},
        {"instance_id": "i1", "weight_taken": 0, "backend": "imported"},
        {"instance_id": "i1", "inspected_count": None},
        {"instance_id": "i1", "inspected_count": 0, "backend": "imported"},
    ],
)
def test_episodes_without_a_count_are_measured_once(make_row, make_rows, merge_rows, uncounted):
    sizes = (("i1", 10), ("i3", None))
    instances = [make_row(InstanceRow, instance_id=name, capacity=size, inspection_budget=size) for name, size in sizes]
    held = flat(make_rows(f"uncounted-{number}", **uncounted) for number in range(3))
    connection = _open([*instances, *held], merge_rows)
    assert merge_rows(connection, make_rows("new", instance_id="i2")) == "increment"


def test_statistics_that_come_without_an_episode_reach_the_marts(base, bundles, merge_rows):
    connection = _open(base, merge_rows)
    assert merge_rows(connection, bundles[4]) == "increment"
    assert connection.sql("select p_value from marts.score_comparisons").fetchall() == [(0.5,)]
    assert connection.sql(
        "select score_pct_low, score_pct_high from marts.evaluated_cells where runtime_contract = 'persistent'"
    ).fetchall() == [(10.0, 90.0)]


def test_a_warehouse_whose_episodes_are_mostly_new_is_computed_again(base, make_rows, merge_rows):
    connection = _open(make_rows("one"), merge_rows)
    assert merge_rows(connection, base) == "rebuild"
    assert _marts(connection) == _marts(_open([*make_rows("one"), *base], merge_rows))


def test_marts_computed_again_keep_their_comments(base, make_rows, merge_rows):
    connection = _open(make_rows("one"), merge_rows)
    assert merge_rows(connection, base) == "rebuild"
    bare = "select table_name, column_name from duckdb_columns() where schema_name = 'marts' and comment is null"
    assert connection.sql(bare).fetchall() == []


def test_refresh_killed_before_its_note_is_repeated_without_harm(base, bundles, merge_rows):
    connection = _open(base, merge_rows)
    merge_rows(connection, bundles[3])
    marts = _marts(connection)
    connection.execute("update main.refreshed_marts set bundle_count = 1")
    assert refresh_marts(connection) == "increment"
    assert _marts(connection) == marts


def test_next_merge_measures_rows_of_a_killed_merger(base, bundles, merge_rows, insert_rows):
    connection = _open(base, merge_rows)
    insert_rows(connection, bundles[3])
    merge_rows(connection, bundles[0])
    assert _marts(connection) == _marts(_open([*base, *bundles[3], *bundles[0]], merge_rows))


def test_nothing_of_the_increment_stays(base, bundles, merge_rows):
    connection = _open(base, merge_rows)
    merge_rows(connection, bundles[1])
    databases = connection.sql("select database_name from duckdb_databases() where not internal").fetchall()
    assert databases == [("memory",)]
    assert connection.sql("select current_database()").fetchall() == [("memory",)]


def test_marts_read_what_an_increment_can_follow():
    """A mart of episodes reads an episode's own tables, instances, plans and such marts; others are made anew."""
    sources = {source.name: source.statement for source in read_mart_sources() if source.schema == "marts"}
    assert set(sources) == {*PER_EPISODE, *SUMMARIES}
    read = {
        name: set(re.findall(r"(?<!distinct )\b(?:from|join) (\w+)\.(\w+)", statement))
        for name, statement in sources.items()
    }
    for name in PER_EPISODE:
        tables = {table for schema, table in read[name] if schema == "main"}
        assert tables <= {"episodes", "instances", *EPISODE_CHILDREN}
        assert {table for schema, table in read[name] if schema == "marts"} <= set(PER_EPISODE)
    for name in SUMMARIES:
        assert {schema for schema, _ in read[name]} <= {"main", "marts", "staging"}
        assert {table for schema, table in read[name] if schema == "main"} <= {"statistics"}
    for source in ("metric_parameters", "failure_parameters", "finish_signals"):
        assert "main." not in (files("carryover.sql") / "staging" / f"{source}.sql").read_text(encoding="utf-8")
    base_models = (files("carryover.sql") / "staging" / "base_models.sql").read_text(encoding="utf-8")
    assert set(re.findall(r"main\.(\w+)", base_models)) == {"runs"}
