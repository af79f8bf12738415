"""Rows of bundles in a warehouse, without its marts."""

from datetime import UTC, datetime, timedelta

import pytest

from carryover.storage.warehouse.connection import open_memory
from carryover.storage.warehouse.insertion import insert_bundles
from carryover.storage.warehouse.migrations import migrate
from carryover.storage.zone.quarantine import Refusal
from carryover.tasks.traces.result_rows import StatisticRow
from carryover.tasks.traces.rows import InstanceRow
from tests.bars import RecordedBars


@pytest.fixture
def connection():
    connection = open_memory()
    migrate(connection)
    return connection


def test_new_rows_are_counted_shown_and_remembered(connection, landing, make_episode, make_row):
    rows = make_episode("e", step_count=2) | {"instances": [make_row(InstanceRow, instance_id="i")]}
    landing.write(rows | {"statistics": [make_row(StatisticRow, statistic_id="s", estimate=1.0)]}, "run")
    again = [make_row(InstanceRow, instance_id=name) for name in "ij"]
    statistics = [make_row(StatisticRow, statistic_id=name, estimate=2.0) for name in "st"]
    landing.write(make_episode("e", step_count=3) | {"instances": again, "statistics": statistics}, "run")
    bars = RecordedBars()
    first, second = landing.manifests().bundles
    counts = {"instances": 1, "episodes": 1, "turns": 2, "steps": 2, "statistics": 1}
    refusals = [Refusal("notes.txt", "foreign")]
    assert insert_bundles(connection, landing, [first], refusals, bars.open) == counts
    assert insert_bundles(connection, landing, [second], [], bars.open) == {"instances": 1, "statistics": 2}
    assert [(bar.label, bar.unit, bar.total, bar.done) for bar in bars.shown] == [
        ("merge", "rows", 7, 7),
        ("merge", "rows", 11, 11),
    ]
    held = connection.sql("from main.merged_bundles order by bundle_id").fetchall()
    assert [row[:4] for row in held] == [
        (first.bundle_id, "run", landing.url, 7),
        (second.bundle_id, "run", landing.url, 11),
    ]
    assert all(abs(datetime.now(UTC) - row[4]) < timedelta(minutes=5) for row in held)
    assert connection.sql("select path, reason from main.quarantine").fetchall() == refusals
    assert connection.sql("select statistic_id, estimate from statistics order by all").fetchall() == [
        ("s", 2.0),
        ("t", 2.0),
    ]
    assert connection.sql("select instance_id from instances order by all").fetchall() == [("i",), ("j",)]
    assert connection.sql("select count(*) from steps").fetchall() == [(2,)]
    assert connection.sql("select view_name from duckdb_views() where not internal").fetchall() == []


def test_an_insertion_that_fails_leaves_nothing(connection, landing, make_episode):
    landing.write(make_episode("e"), "run")
    (bundle,) = landing.manifests().bundles
    landing.store.remove(bundle.files[-1].path)
    with pytest.raises(Exception, match="No files found"):
        insert_bundles(connection, landing, [bundle], [])
    for table in ("episodes", "turns", "steps", "merged_bundles"):
        assert connection.sql(f"select count(*) from main.{table}").fetchall() == [(0,)]


def test_a_plan_whose_episode_lost_reuses_the_winner(connection, landing, make_episode):
    landing.write(make_episode("e", plan_digest="first"), "run")
    landing.write(make_episode("e", "second", plan_digest="second"), "second")
    landing.write(make_episode("e", "again", plan_digest="first"), "again")
    insert_bundles(connection, landing, landing.manifests().bundles, [])
    reused = "select run_id, plan_digest, episode_id from reused_episodes"
    assert connection.sql(reused).fetchall() == [("second", "second", "e")]
    landing.write(make_episode("e", "third", plan_digest="second"), "third")
    insert_bundles(connection, landing, landing.manifests().bundles[3:], [])
    assert connection.sql(reused).fetchall() == [("second", "second", "e")]  # noted once
