"""What a plan's tables are asked for."""

import json

import pyarrow as pa

from carryover.tasks.analysis.plan_tables import names_of_plan, rows_of_plan
from carryover.tasks.analysis.queries import command_sql, general_tables, table_query
from carryover.tasks.knapsack.environment import describe_tools


def test_a_table_is_asked_with_what_its_query_names():
    asked = []

    def ask(query, /, **named):
        asked.append((query, named))
        return pa.table({"score": [0.5]})

    for sql, wanted in (("both", ("plan_digest", "tools_json")), ("one", ("plan_digest",))):
        query = table_query("table_1")._replace(sql=sql, parameters=wanted)
        assert rows_of_plan(ask, query, "2f3a").to_dict(as_series=False) == {"score": [0.5]}
    tools = json.dumps(describe_tools())
    assert asked == [("both", {"plan_digest": "2f3a", "tools_json": tools}), ("one", {"plan_digest": "2f3a"})]


def test_a_plans_families_choose_its_tables():
    asked = []

    def ask(query, /, **named):
        asked.append((query, named))
        return pa.table({"family": ["log_triage"]})

    assert names_of_plan(ask, "2f3a") == general_tables()
    assert asked == [(command_sql("plan_families"), {"plan_digest": "2f3a"})]
