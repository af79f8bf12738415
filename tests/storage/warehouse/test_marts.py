import pytest

from carryover.storage.warehouse.connection import open_memory
from carryover.storage.warehouse.mart_sources import read_mart_sources, sources_digest
from carryover.storage.warehouse.marts import refresh_marts
from carryover.storage.warehouse.migrations import migrate, read_migrations


@pytest.fixture
def connection():
    connection = open_memory()
    migrate(connection)
    return connection


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
    assert sources_digest(sources[:-1]) != digest
    fewer = read_migrations()[:-1]
    monkeypatch.setattr("carryover.storage.warehouse.mart_sources.read_migrations", lambda: fewer)
    assert sources_digest(sources) != digest


def test_staging_becomes_views_and_marts_become_tables(connection):
    assert refresh_marts(connection) == "rebuild"
    assert (_kinds(connection, "staging"), _kinds(connection, "marts")) == ({"VIEW"}, {"BASE TABLE"})


def test_marts_of_a_database_without_own_rows_are_views(connection):
    assert refresh_marts(connection, is_materialized=False) == "rebuild"
    assert _kinds(connection, "marts") == {"VIEW"}
    assert refresh_marts(connection) == "rebuild"
    assert _kinds(connection, "marts") == {"BASE TABLE"}


def test_marts_are_computed_again_only_after_another_bundle(connection):
    refresh_marts(connection)
    assert refresh_marts(connection) == "nothing"
    connection.execute("insert into main.merged_bundles values ('b', 'run', 'landing', 1, now())")
    assert refresh_marts(connection) == "increment"
    assert refresh_marts(connection) == "nothing"


def test_marts_of_other_files_are_computed_again(connection):
    refresh_marts(connection)
    connection.execute("update main.refreshed_marts set sql_digest = 'another version'")
    assert refresh_marts(connection) == "rebuild"


def test_what_a_former_version_defined_goes(connection):
    connection.execute("create view staging.former as select 1 as a; create table marts.former as select 1 as a")
    refresh_marts(connection)
    names = connection.sql("select table_name from information_schema.tables where table_name = 'former'").fetchall()
    assert names == []


def test_marts_of_episodes_are_named_so(connection):
    refresh_marts(connection)
    columns = connection.sql("select distinct table_name from duckdb_columns() where schema_name = 'marts'").fetchall()
    by_episode = connection.sql(
        "select table_name from duckdb_columns() where schema_name = 'marts' and column_name = 'episode_id'"
    ).fetchall()
    assert {name for (name,) in by_episode} == {name for (name,) in columns if name.startswith("episode_")}
