"""Tables of a family other than the paper's: general ones print, and no published value stands beside them."""

import json

import pytest

from carryover.flows.cli.results.tables import plan_tables, print_tables
from carryover.storage.warehouse.reader import Warehouse
from carryover.storage.zone.landing import LandingZone
from carryover.tasks.analysis.queries import table_names
from carryover.tasks.services.errors import UserError


def add_cells(warehouse, family):
    none = {"value_taken": None, "weight_taken": None, "taken_count": None, "inspected_count": None}
    for number, (cell, coins) in enumerate([("P->P", 10), ("P->P", 20), ("P->S", 0)]):
        metrics = json.dumps({"coins": coins, "odd name": 1})
        warehouse.episode(cell, f"i{number}", 0.5, family=family, metrics_json=metrics, **none)


def test_each_metric_has_its_mean_per_cell(warehouse):
    add_cells(warehouse, "boxes")
    rows = warehouse.table("family_metrics")
    assert [(row["family"], row["condition"], row["metric"], row["episode_count"], row["mean"]) for row in rows] == [
        ("boxes", "P->P", "coins", 2, 15.0),
        ("boxes", "P->P", "odd name", 2, 1.0),
        ("boxes", "P->S", "coins", 1, 0.0),
        ("boxes", "P->S", "odd name", 1, 1.0),
    ]


@pytest.mark.parametrize(("family", "split"), [("knapsack", "easy"), ("boxes", None)])
def test_published_values_stand_beside_the_knapsack_alone(warehouse, family, split):
    add_cells(warehouse, family)
    assert {row["qwen3_8b_split"] for row in warehouse.table("table_2")} == {split}


def test_the_papers_tables_are_left_out_for_another_family(warehouse, tmp_path):
    warehouse.run()
    add_cells(warehouse, "boxes")
    opened = Warehouse(warehouse.connection, LandingZone(tmp_path))
    names = plan_tables(opened, "plan")
    assert {"mechanism", "cells", "token_ratios", "repair", "family_metrics"} <= set(names)
    assert not [name for name in names if name.startswith(("table_", "figure_"))]
    with pytest.raises(UserError, match="table_2 is about the Opaque Knapsack, which plan plan does not play"):
        print_tables(opened, "plan", ["2"], "csv")


def test_a_knapsack_plan_has_every_table(warehouse, tmp_path):
    warehouse.run()
    add_cells(warehouse, "knapsack")
    assert plan_tables(Warehouse(warehouse.connection, LandingZone(tmp_path)), "plan") == table_names()
