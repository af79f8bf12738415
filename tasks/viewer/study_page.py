"""The page of a study: its plan, its findings and its cells."""

import json
from typing import Any

import polars as pl

from carryover.tasks.analysis.asking import Ask
from carryover.tasks.analysis.queries import command_sql, table_query
from carryover.tasks.analysis.summary import findings
from carryover.tasks.viewer.warehouse_rows import rows


def study_page(ask: Ask, plan_digest: str) -> dict[str, Any]:
    """Return a plan's study as JSON values."""
    (run,) = ask(command_sql("study_run"), plan_digest=plan_digest).to_pylist()
    cells = rows(ask, "cells", plan_digest=plan_digest)
    (parts,) = rows(ask, "study_parts", plan_digest=plan_digest)
    return {
        "plan_digest": plan_digest,
        "plan_name": run["plan_name"],
        "scale": run["scale"],
        "started_at": run["started_at"],
        "status": run["status"],
        "measured_on": cells[0]["measured_on"] if cells else "no episodes",
        "findings": findings(pl.DataFrame(ask(table_query("mechanism").sql, plan_digest=plan_digest))),
        "cells": cells,
        "plans": rows(ask, "plans"),
        **parts,
    }


def run_page(ask: Ask, plan_digest: str) -> dict[str, Any]:
    """Return a plan's latest run with its resolved plan and its environment."""
    (run,) = ask(command_sql("study_run"), plan_digest=plan_digest).to_pylist()
    plan = json.loads(run.pop("plan_json"))
    environment = json.loads(run.pop("environment_json"))
    return {"run": run, "plan": plan, "environment": environment}
