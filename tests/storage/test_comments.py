"""The schema speaks for itself: every relation and column of a merged warehouse bears a comment."""

import duckdb
import pytest

from carryover.storage.comments import comment_on_schema, read_meanings
from carryover.storage.warehouse.connection import open_memory
from carryover.storage.warehouse.merger import merge
from carryover.storage.warehouse.reader import Warehouse

RELATIONS = """
select schema_name || '.' || table_name, comment from duckdb_tables() where database_name = current_database()
union all
select schema_name || '.' || view_name, comment from duckdb_views()
where database_name = current_database() and not internal
"""
COLUMNS = """
select schema_name || '.' || table_name || '.' || column_name, comment from duckdb_columns()
where database_name = current_database() and not internal
"""


def _comments(merged, query: str) -> dict[str, str | None]:
    with Warehouse.open(merged) as warehouse:
        return dict(warehouse.sql(query).rows())


@pytest.mark.parametrize("query", [RELATIONS, COLUMNS], ids=["relations", "columns"])
def test_nothing_is_without_a_comment(merged, landing, make_episode, query):
    assert [name for name, comment in _comments(merged, query).items() if not comment] == []
    for number in range(3):  # the last merges measure the new episode alone
        landing.write(make_episode(f"e-{number}"), "run")
        merge(landing, merged)
    assert [name for name, comment in _comments(merged, query).items() if not comment] == []


def test_comments_come_from_row_models_sql_files_and_glossary(merged):
    relations, columns = _comments(merged, RELATIONS), _comments(merged, COLUMNS)
    assert relations["main.episodes"] == "One agent run on one instance. Key: episode_id."
    assert (relations["marts.failure_counts"] or "").startswith("one row per evaluated cell and reading")
    assert columns["main.instances.capacity"] == "Largest total weight, in weight units."
    assert columns["main.steps.run_id"] == "Run that landed the row."
    assert read_meanings().columns["*", "attempt"] == columns["main.episodes.attempt"]
    assert columns["marts.episode_metrics.total_tokens"] == columns["main.episodes.total_tokens"]
    assert (columns["marts.score_comparisons.qwen3_8b_mean_a_pct"] or "").startswith("Mean score of a, in percent. As")


INTERVAL = "Normalized optimality in [0, 1]. {} end of its interval."


@pytest.mark.parametrize(
    ("column", "comment"),
    [
        ("score", "Normalized optimality in [0, 1]."),
        ("score_low", INTERVAL.format("Lower")),
        ("score_high", INTERVAL.format("Upper")),
        ("score_low_points", INTERVAL.format("Lower")),
        ("score_high_points", INTERVAL.format("Upper")),
        ("widest_score", "Normalized optimality in [0, 1]. The widest of its intervals."),
        ("qwen3_8b_score", "Normalized optimality in [0, 1]. As published for Qwen3-8B (arXiv 2603.01209)."),
        (
            "score_difference",
            "Normalized optimality in [0, 1]. Ours minus the published value; null where the two cannot be compared.",
        ),
        ("unheard_of", None),
        ("unheard_of_low", None),
    ],
)
def test_a_column_beside_another_is_commented_after_it(column, comment):
    connection = open_memory()
    connection.execute(f"create table main.mine as select 1 as {column}")
    connection.execute("create view main.shown as select 1 as code; create table main.kept (score double)")
    connection.execute("comment on column main.kept.score is 'Kept.'")
    comment_on_schema(
        connection, [("main.mine", "-- one row\n-- of mine\nselect 1\n-- more"), ("main.shown", "select")]
    )
    assert connection.sql("select table_name, comment from duckdb_tables() order by 1").fetchall() == [
        ("kept", None),
        ("mine", "one row of mine"),
    ]
    columns = "select column_name, comment from duckdb_columns() where not internal order by table_name"
    code = read_meanings().columns["*", "code"]
    assert connection.sql(columns).fetchall() == [("score", "Kept."), (column, comment), ("code", code)]


def test_every_entry_of_the_glossary_is_of_something(merged):
    with duckdb.connect(str(merged), read_only=True) as connection:
        named = {name for (name,) in connection.sql("select column_name from duckdb_columns()").fetchall()}
    assert [column for relation, column in read_meanings().columns if relation == "*" and column not in named] == [
        "mean_turns"  # of `mean_turns_difference`
    ]
