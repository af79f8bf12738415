"""Every SQL file runs on an empty warehouse and keeps to the house style."""

import re
from importlib.resources import files

import pytest

from carryover.tasks.analysis.queries import table_names, table_query

FOLDERS = ("staging", "marts", "views", "tables", "viewer")
SQL_FILES = [
    f"{folder}/{file.name}"
    for folder in FOLDERS
    for file in (files("carryover.sql") / folder).iterdir()
    if file.name.endswith(".sql")
]
CAVE = table_names(is_cave=True)
PUBLISHED_ONLY = {
    "predictions",
    "side_by_side",
    "table_4",
    "cave_only_one_solved",
    *(name for name in CAVE if name.startswith("cave_table_")),
}
"""Tables that say something before there is an episode."""


@pytest.mark.parametrize("name", [*table_names(), *CAVE])
def test_table_of_an_empty_warehouse_has_columns_without_own_rows(warehouse, name):
    rows = warehouse.table(name, tools_json="[]")
    assert bool(rows) == (name in PUBLISHED_ONLY)


@pytest.mark.parametrize("schema", ["staging", "marts"])
def test_every_file_becomes_a_relation_of_its_schema(warehouse, schema):
    relations = warehouse.sql(
        """
        select table_name
        from information_schema.tables
        where table_schema = $schema
        """,
        schema=schema,
    )
    stems = {file.removeprefix(f"{schema}/").removesuffix(".sql") for file in SQL_FILES if file.startswith(schema)}
    assert {row["table_name"] for row in relations} - {"attempts"} == stems  # made from `EpisodeRow.SAME_EPISODE`


@pytest.mark.parametrize(
    ("call", "value"),
    [
        ("staging.minus_published(3, 1, true)", 2),
        ("staging.minus_published(3, 1, false)", None),
        ("staging.minus_published(3, null, true)", None),
        ("staging.is_main_interval('t over seeds')", True),
        ("staging.is_main_interval('BCa')", False),
        ("staging.base_position('common')", 2),
        ("staging.base_position('hub')", None),
        ("staging.model_seed(null)", -1),
        ("staging.model_seed(3)", 3),
    ],
)
def test_macro_gives_this_value(warehouse, call, value):
    assert warehouse.sql(f"select {call} as value") == [{"value": value}]


def test_every_macro_has_its_values_written_down(warehouse):
    macros = {file.name.removesuffix(".sql") for file in (files("carryover.sql") / "macros").iterdir()}
    assert macros == {"minus_published", "is_main_interval", "base_position", "model_seed"}


@pytest.mark.parametrize("file", SQL_FILES)
def test_sql_file_is_one_statement_below_a_comment_on_rows(file):
    text = (files("carryover.sql") / file).read_text(encoding="utf-8")
    assert text.startswith("-- ")
    assert ";" not in re.sub(r"--.*", "", text)
    assert "\norder by" in text  # not indented: of the whole statement
    assert "\nselect * from" not in text  # it ends in its own select, not in one of the CTE before


@pytest.mark.parametrize("name", [*table_names(), *CAVE])
def test_a_table_wants_nothing_but_the_plan_and_the_tools(name):
    assert set(table_query(name).parameters) <= {"plan_digest", "tools_json"}


def test_no_sum_of_a_table_is_wider_than_a_whole_number_of_json(warehouse):
    """A sum of bigints is a hugeint, which Arrow has as a decimal and JSON as a text."""
    connection = warehouse.connection
    wide = []
    for name in [*table_names(), *CAVE]:
        query = table_query(name)
        known = {"plan_digest": "plan", "tools_json": "[]"}
        relation = connection.sql(query.sql, params={key: known[key] for key in query.parameters})
        types = zip(relation.columns, relation.types, strict=True)
        wide += [f"{name}.{column}" for column, kind in types if str(kind) == "HUGEINT"]
    assert wide == []


def test_a_plan_sees_no_other_plans_rows(warehouse):
    warehouse.run()
    warehouse.instance("i1")
    warehouse.episode("P->P", plan_digest="other plan")
    for name in {*table_names(), *CAVE} - PUBLISHED_ONLY:
        assert warehouse.table(name) == []
