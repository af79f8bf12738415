import re
from datetime import UTC, datetime, timedelta

import pytest

from carryover.storage.warehouse.connection import open_memory
from carryover.storage.warehouse.mart_sources import read_mart_sources, sources_digest
from carryover.storage.warehouse.marts import refresh_marts
from carryover.storage.warehouse.migrations import migrate, read_migrations
from tests.bars import RecordedBars, ShownBar
from tests.empty_warehouse import open_empty_memory


@pytest.fixture
def connection():
    connection = open_memory()
    migrate(connection)
    return connection


@pytest.fixture
def made():
    """A database whose marts have been made."""
    return open_empty_memory()


def _kinds(connection, schema: str) -> set[str]:
    return {
        kind
        for (kind,) in connection.sql(
            "select table_type from information_schema.tables where table_schema = $schema", params={"schema": schema}
        ).fetchall()
    }


def test_marts_are_of_other_sources_after_another_file_or_migration(monkeypatch):
    sources = read_mart_sources()
    digest = sources_digest(sources)
    assert re.fullmatch("[0-9a-f]{16}", digest)
    assert sources_digest(sources[:-1]) != digest
    fewer = read_migrations()[:-1]
    monkeypatch.setattr("carryover.storage.warehouse.mart_sources.read_migrations", lambda: fewer)
    assert sources_digest(sources) != digest


def test_staging_becomes_views_and_marts_become_tables(connection):
    bars = RecordedBars()
    assert refresh_marts(connection, open_bar=bars.open) == "rebuild"
    assert (_kinds(connection, "staging"), _kinds(connection, "marts")) == ({"VIEW"}, {"BASE TABLE"})
    count = sum(source.schema == "marts" for source in read_mart_sources())
    assert bars.shown == [ShownBar("marts", "marts", count, bars.shown[0].advances)]
    assert bars.shown[0].done == count
    ((digest, bundle_count, refreshed_at),) = connection.sql("from main.refreshed_marts").fetchall()
    assert (digest, bundle_count) == (sources_digest(read_mart_sources()), 0)
    assert abs(datetime.now(UTC) - refreshed_at) < timedelta(minutes=5)


def test_marts_of_a_database_without_own_rows_are_views(connection):
    assert refresh_marts(connection, is_materialized=False) == "rebuild"
    assert _kinds(connection, "marts") == {"VIEW"}
    assert refresh_marts(connection) == "rebuild"
    assert _kinds(connection, "marts") == {"BASE TABLE"}


def test_marts_are_computed_again_only_after_another_bundle(made):
    assert refresh_marts(made) == "nothing"
    made.execute("insert into main.merged_bundles values ('b', 'run', 'landing', 1, now())")
    bars = RecordedBars()
    assert refresh_marts(made, open_bar=bars.open) == "increment"
    (bar,) = bars.shown
    assert (bar.label, bar.unit, bar.total) == ("marts", "marts", bar.done)
    assert made.sql("select bundle_count from main.refreshed_marts").fetchall() == [(1,)]
    assert refresh_marts(made) == "nothing"


def test_marts_of_other_files_are_computed_again(made):
    made.execute("update main.refreshed_marts set sql_digest = 'another version'")
    assert refresh_marts(made) == "rebuild"


def test_what_a_former_version_defined_goes(connection):
    connection.execute("create view staging.former as select 1 as a; create table marts.former as select 1 as a")
    refresh_marts(connection)
    names = connection.sql("select table_name from information_schema.tables where table_name = 'former'").fetchall()
    assert names == []


def test_marts_of_episodes_are_named_so(made):
    columns = made.sql("select distinct table_name from duckdb_columns() where schema_name = 'marts'").fetchall()
    by_episode = made.sql(
        "select table_name from duckdb_columns() where schema_name = 'marts' and column_name = 'episode_id'"
    ).fetchall()
    assert {name for (name,) in by_episode} == {name for (name,) in columns if name.startswith("episode_")}
