"""The lint of rows knows the tools of each family's host."""

import json
from types import SimpleNamespace
from typing import Any

from carryover.flows.cli.traces.lint import names_of_the_host
from carryover.storage.warehouse.merger import merge
from carryover.storage.warehouse.reader import Warehouse
from carryover.storage.zone.landing import LandingZone
from carryover.tasks.families.choose import open_own_family
from carryover.tasks.knapsack.environment import KNOWN_NAMES, TOOL_NAMES


def test_names_of_a_familys_instances_are_known_once_in_order():
    described = [
        ("own", json.dumps({"tools": ["look", "take"], "known": ["rows"]})),
        ("own", json.dumps({"tools": ["take", "leave"], "known": ["columns", "rows"]})),
        ("knapsack", json.dumps({"tools": ["weigh"], "known": ["scale"]})),
    ]
    warehouse: Any = SimpleNamespace(sql=lambda _: SimpleNamespace(rows=lambda: described))
    assert names_of_the_host(warehouse) == {
        "knapsack": ((*TOOL_NAMES, "weigh"), (*KNOWN_NAMES, "scale")),
        "own": (("look", "take", "leave"), ("rows", "columns")),
    }


def test_tools_that_vary_are_known_together(tmp_path):
    own = open_own_family("cave_token_efficiency")
    rows = [own.rows(own.sample(bucket, 0), "run", "train")[0] for bucket in own.family.buckets]
    zone = LandingZone(tmp_path / "landing")
    zone.write({"instances": rows}, "run")
    merge(zone, tmp_path / "warehouse.duckdb")
    with Warehouse.open(tmp_path / "warehouse.duckdb") as warehouse:
        tools = names_of_the_host(warehouse)[own.name].tools
    assert {"list_devices", "read_account", "check_out", "next_question", "finish"} <= set(tools)
