from datetime import UTC, datetime

import pyarrow as pa
import pytest

from carryover.storage.zone.schemas import Column, arrow_schema, create_table, default_literal, duckdb_columns, to_arrow
from carryover.tasks.traces.rows import EpisodeRow, RuntimeEventRow, StepRow
from carryover.tasks.traces.study_rows import RunRow
from carryover.tasks.traces.tables import TABLES
from carryover.tasks.traces.vocabulary import FinishReason


def test_a_model_gives_names_types_and_nullability():
    schema = arrow_schema("runtime_events")
    assert schema.field("sequence") == pa.field("sequence", pa.int64(), nullable=False)
    assert schema.field("name") == pa.field("name", pa.string(), nullable=True)
    assert arrow_schema("steps").field("active_globals").type == pa.list_(pa.string())
    assert arrow_schema("runs").field("started_at").type == pa.timestamp("us", tz="UTC")
    assert arrow_schema("episodes").field("finish_reason") == pa.field("finish_reason", pa.string(), nullable=False)


@pytest.mark.parametrize("table", sorted(TABLES))
def test_the_migrations_declare_what_the_models_say(empty_warehouse, table):
    declared = empty_warehouse.sql(
        """
        select column_name, data_type, is_nullable from duckdb_columns()
        where database_name = current_database() and schema_name = 'main' and table_name = $table
        """,
        params={"table": table},
    ).fetchall()
    assert sorted(Column(*row) for row in declared) == sorted(duckdb_columns(table))


@pytest.mark.parametrize(
    ("table", "statement"),
    [
        (
            "run_ends",
            "create table main.run_ends (run_id VARCHAR not null, status VARCHAR, message VARCHAR, "
            "finished_at TIMESTAMP WITH TIME ZONE, primary key (run_id))",
        ),
        (
            "items",
            "create table main.items (run_id VARCHAR, instance_id VARCHAR not null, item_id VARCHAR not null, "
            "weight BIGINT, value BIGINT, item_class VARCHAR, is_allowed BOOLEAN, is_optimal BOOLEAN, "
            "primary key (instance_id, item_id))",
        ),
    ],
)
def test_a_small_table_declares_its_key(table, statement):
    assert create_table(table) == statement


@pytest.mark.parametrize("table", ["steps", "statistics"])
def test_tables_of_episodes_and_of_latest_rows_declare_none(table):
    assert "primary key" not in create_table(table)


@pytest.mark.parametrize(
    ("table", "name", "literal"),
    [
        ("errors", "is_injected_missing_name", "false"),
        ("instances", "family", "'knapsack'"),
        ("instances", "class_universe", "[]"),
        ("runs", "started_at", "null"),
        ("steps", "code", "null"),
    ],
)
def test_a_columns_default_is_a_literal(table, name, literal):
    assert default_literal(table, name) == literal


def test_keys_are_columns_that_are_never_null():
    for table, model in TABLES.items():
        assert all(not arrow_schema(table).field(name).nullable for name in model.KEY)


def test_rows_survive_the_way_to_arrow_and_back(make_row):
    row = make_row(
        EpisodeRow,
        episode_id="e",
        finish_reason=FinishReason.TIMEOUT,
        score=None,
        started_at=datetime(2026, 3, 1, 12, tzinfo=UTC),
    )
    assert list(map(EpisodeRow.model_validate, to_arrow([row]).to_pylist())) == [row]


def test_half_a_surrogate_pair_stays_readable(make_row):
    row = make_row(StepRow, code="s = '\ud83d'", active_globals=("\ud83d", "x"))
    table = to_arrow([row])
    assert table["code"].to_pylist() == ["s = '\\ud83d'"]
    assert table["active_globals"].to_pylist() == [["\\ud83d", "x"]]


def test_a_time_without_zone_is_refused(make_row):
    with pytest.raises(ValueError, match="'started_at' holds a time without a zone"):
        to_arrow([make_row(RunRow, started_at=datetime(2026, 3, 1))])


def test_rows_of_two_tables_are_refused(make_row):
    with pytest.raises(ValueError, match="got RunRow and StepRow"):
        to_arrow([make_row(RunRow), make_row(StepRow)])
    with pytest.raises(ValueError, match="no rows"):
        to_arrow([])


def test_an_unknown_table_is_named_beside_the_known_ones():
    with pytest.raises(ValueError, match=r"unknown table 'stepz'; choose from .*steps"):
        arrow_schema("stepz")


def test_a_runtime_event_keeps_null_apart_from_empty(make_row):
    table = to_arrow([make_row(RuntimeEventRow, name=None, detail_json="")])
    assert (table["name"].to_pylist(), table["detail_json"].to_pylist()) == ([None], [""])


def test_total_tokens_are_null_where_nobody_counted_them(make_row):
    counts = {"prompt_tokens": 900, "completion_tokens": 100}
    assert make_row(EpisodeRow, **counts, token_source="server").total_tokens == 1000
    assert make_row(EpisodeRow, prompt_tokens=0, completion_tokens=0, token_source="server").total_tokens == 0
    assert make_row(EpisodeRow, prompt_tokens=0, completion_tokens=100, token_source="imported").total_tokens is None
