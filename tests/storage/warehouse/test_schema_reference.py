from contextlib import suppress

import duckdb
import pytest

from carryover.storage.warehouse import schema_reference
from carryover.storage.warehouse.schema_reference import describe_schema
from carryover.tasks.services.errors import UserError
from carryover.tasks.traces.tables import TABLES
from tests.empty_warehouse import open_empty_memory


def test_every_relation_and_column_is_described():
    relations = describe_schema()
    assert {f"main.{table}" for table in TABLES} < set(relations["relation"])
    assert {"marts.episode_metrics", "published.table_2", "main.latest_episodes"} < set(relations["relation"])
    assert relations["meaning"].null_count() == 0
    assert describe_schema("marts.evaluated_cells")["meaning"].null_count() == 0


@pytest.fixture
def made(monkeypatch):
    """The described warehouse is a copy: making one is the first test's."""
    monkeypatch.setattr(schema_reference, "open_memory", open_empty_memory)


@pytest.mark.usefixtures("made")
def test_a_table_s_columns_come_with_types_and_meanings():
    columns = {row["column"]: row for row in describe_schema("items").iter_rows(named=True)}
    assert columns["is_optimal"]["type"] == "BOOLEAN"
    assert columns["is_optimal"]["meaning"] == "Whether the item is in the stored optimal set."
    assert columns == {row["column"]: row for row in describe_schema("main.items").iter_rows(named=True)}


@pytest.mark.parametrize("relation", ["items", "episode"])
def test_the_described_warehouse_is_closed(monkeypatch, relation):
    connection = open_empty_memory()
    monkeypatch.setattr(schema_reference, "open_memory", lambda: connection)
    with suppress(UserError):
        describe_schema(relation)
    with pytest.raises(duckdb.ConnectionException):
        connection.execute("select 1")


@pytest.mark.usefixtures("made")
def test_an_unknown_relation_is_refused():
    with pytest.raises(UserError, match="unknown relation 'episode'; `carryover schema` lists them"):
        describe_schema("episode")
