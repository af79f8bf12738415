"""The rows of tables and marts come in the order of their settings, whatever order the rows behind them have."""

from itertools import product

import pytest

from carryover.storage.warehouse.mart_sources import read_mart_sources
from carryover.tasks.analysis.queries import table_query
from tests.empty_warehouse import open_empty_memory
from tests.sql.hand_made import GROUP, REUSING
from tests.sql.hand_made_warehouse import HandMade

SETTINGS = (
    {},
    {"variant": "a variant"},
    {"base": "another"},
    {"visibility": "as_trained"},
    {"header": "none"},
    {"bucket": "a bucket"},
)
CELLS = ("S->S", "S->P", "P->S", "P->P", "base->S", "base->P")
COMPARED = (
    ("a group", "stateless", "stateless"),
    ("fixed_runtime", "persistent", "persistent"),
    ("fixed_runtime", "persistent", "stateless"),
    ("fixed_runtime", "stateless", "persistent"),
    ("native_vs_mismatched", "persistent", "persistent"),
)
PLACE = tuple(GROUP)
OF_CELLS = (*PLACE, "-model", "condition")
OF_COMPARISONS = (*PLACE, "-comparison_group", "train_a", "runtime_a")
ORDERS = {
    "table_2": OF_CELLS,
    "table_3": OF_CELLS,
    "table_6": (*OF_CELLS, "finish_reason"),
    "table_7": OF_COMPARISONS,
    "table_8": OF_COMPARISONS,
    "table_9": OF_CELLS,
    "table_10": OF_CELLS,
    "figure_2": OF_CELLS,
    "figure_3": (*PLACE, "condition"),
    "failure_percentages": (*OF_CELLS, "category"),
    "failure_sensitivity": (*PLACE, "-model", "cell", "-is_sensitivity", "reading"),
    "behaviour_readings": (*PLACE, "-model", "cell", "-is_default", "reading"),
    "token_ratios": (*PLACE, "train_a", "runtime_a", "-metric", "interval_kind"),
    "token_sensitivity": (*PLACE, "condition"),
    "equivalence": OF_COMPARISONS,
    "interaction": (*PLACE, "analysis", "metric", "-interval_kind"),
    "test_families": (*PLACE, "analysis", "metric"),
    "seed_contrasts": (*PLACE, "train_contract", "seed_a", "seed_b"),
    "repair": ("measured_on", *PLACE, "model", "condition"),
}
"""Columns that order a table's rows, those before which a minus stands downwards."""

RELATIONS = {
    "mean_intervals": ("plan_digest", *PLACE, "train_contract", "runtime_contract"),
    "episode_behaviour": ("episode_id", "reading"),
    "episode_failures": ("episode_id", "reading"),
    "evaluated_buckets": ("plan_digest", *PLACE),
    "evaluated_cells": ("plan_digest", *PLACE, "condition"),
    "failure_counts": ("plan_digest", *PLACE, "condition", "reading"),
    "judged_settings": ("plan_digest", *PLACE),
    "measured_behaviour": ("plan_digest", *OF_CELLS),
    "reading_means": ("plan_digest", *PLACE, "condition", "reading"),
    "score_comparisons": ("plan_digest", *OF_COMPARISONS),
    "token_sensitivity": ("plan_digest", *PLACE, "condition"),
}


@pytest.fixture(scope="module")
def connection():
    """A study of six settings in two plans, whose marts hold their rows in reverse."""
    study = HandMade(open_empty_memory())
    for plan, values, is_hard in product(("plan", "a plan"), SETTINGS, (False, True)):
        bucket = "hard " * is_hard + values.get("bucket", "small")
        place = {"plan_digest": plan, **values, "bucket": bucket}
        for cell, seed in product(CELLS, (2, 1)):
            play(study, cell, seed, is_out_of_distribution=is_hard, **place)
        statistics(study, **place)
    statistics(study, bucket="without an episode")
    connection = study.connection
    marts = connection.sql("select table_name from duckdb_tables() where schema_name = 'marts'").fetchall()
    for (name,) in marts:
        connection.execute(f"create table reversed as from marts.{name} order by rowid desc")
        connection.execute(f"create or replace table marts.{name} as from reversed; drop table reversed")
    return connection


def play(study, cell, seed, **values):
    """Add an episode of a cell; the base has no seed and is played once."""
    if cell.startswith("base") and seed == 1:
        return
    trained = {} if cell.startswith("base") else {"training_seed": seed}
    study.steps(study.episode(cell, "i1", 0.5, **trained, **values), REUSING)


def statistics(study, **place):
    """Add the statistics of a setting, in an order of no table."""
    for group, train, runtime in reversed(COMPARED):
        arms = {"comparison_group": group, "train_a": train, "runtime_a": runtime}
        against = {"train_b": "persistent", "runtime_b": "stateless"}
        for analysis in ("wilcoxon", "equivalence", "mcnemar"):
            study.statistic(analysis, **arms, **against, p_value=0.5, **place)
    for _, train, runtime in reversed(COMPARED[:4]):
        study.statistic("mean", train_a=train, runtime_a=runtime, low=0.25, high=0.5, **place)
    for metric, kind in product(("prompt_tokens", "total_tokens"), ("t over seeds", "percentile")):
        told = {"metric": metric, "interval_kind": kind, "estimate": 2.0, **place}
        for _, train, runtime in reversed(COMPARED[:3]):
            arms = {"comparison_group": "against_aligned", "train_a": train, "runtime_a": runtime}
            study.statistic("ratio", **arms, **told)
        for analysis in ("interaction_ratio", "interaction"):
            study.statistic(analysis, comparison_group="train_x_runtime", **told)


def in_order(rows, columns):
    """Return the rows sorted by columns, unknown values last."""
    ordered = list(rows)
    for name in reversed(columns):
        column = name.removeprefix("-")
        if name == column:
            ordered.sort(key=lambda row, of=column: (row[of] is None, row[of]))
        else:
            ordered.sort(key=lambda row, of=column: (row[of] is not None, row[of]), reverse=True)
    return ordered


def places(rows, columns):
    return [tuple(row[name.removeprefix("-")] for name in columns) for row in rows]


@pytest.mark.parametrize("name", ORDERS)
def test_rows_of_a_table_come_once_and_in_order(connection, name):
    columns = ORDERS[name]
    rows = connection.sql(table_query(name).sql, params={"plan_digest": "plan"}).to_arrow_table().to_pylist()
    found = places(rows, columns)
    assert found == places(in_order(rows, columns), columns)
    assert len(set(found)) == len(found)
    assert "without an episode" not in {row["bucket"] for row in rows}
    assert len({tuple(row[column] for column in PLACE) for row in rows}) > 4


@pytest.mark.parametrize("name", RELATIONS)
def test_rows_of_a_mart_come_once_and_in_order(connection, name):
    columns = RELATIONS[name]
    sources = {source.name: source.statement for source in read_mart_sources()}
    rows = connection.sql(sources[name]).to_arrow_table().to_pylist()
    found = places(rows, columns)
    assert found == places(in_order(rows, columns), columns)
    assert len(set(found)) == len(found)
