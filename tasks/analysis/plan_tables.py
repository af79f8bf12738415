"""A plan's tables: their names and rows."""

import json

import polars as pl

from carryover.tasks.analysis.asking import Ask
from carryover.tasks.analysis.queries import TableQuery, command_sql, tables_of
from carryover.tasks.knapsack.environment import describe_tools


def names_of_plan(ask: Ask, plan_digest: str) -> list[str]:
    """Return a plan's tables; the paper's belong to the knapsack."""
    return tables_of(ask(command_sql("plan_families"), plan_digest=plan_digest).column(0).to_pylist())


def rows_of_plan(ask: Ask, query: TableQuery, plan_digest: str) -> pl.DataFrame:
    """Return a table's rows for a plan."""
    known = {"plan_digest": plan_digest, "tools_json": json.dumps(describe_tools())}
    return pl.DataFrame(ask(query.sql, **{name: known[name] for name in query.parameters}))
