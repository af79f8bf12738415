"""A run as `carryover diff` compares it: its plan, its environment, and the servers of its models."""

import json

from carryover.flows.cli.places import command_sql
from carryover.storage.warehouse.reader import Warehouse
from carryover.tasks.running.errors import UserError


def describe_run(warehouse: Warehouse, start: str) -> dict[str, object]:
    """Return a run's plan, its environment and the servers that answered for its models, as JSON values.

    Raises:
        UserError: No run's id starts so, and the message names the latest; or several do.
    """
    rows = warehouse.sql(command_sql("described_runs"), start=start).rows()
    if not rows:
        known = [row[0] for row in warehouse.sql("select run_id from runs order by started_at desc limit 5").rows()]
        raise UserError(f"no run {start!r}; the latest are {', '.join(known) or 'none'}")
    if len(rows) > 1 and rows[0][0] != start:
        raise UserError(f"several runs start with {start!r}: {', '.join(row[0] for row in rows)}; give more digits")
    run_id, name, plan, environment = rows[0]
    return {
        "plan_name": name,
        "plan": json.loads(plan),
        "environment": json.loads(environment),
        "servers": [json.loads(row[0]) for row in warehouse.sql(command_sql("run_servers"), run_id=run_id).rows()],
    }
