"""What a run was: its plan, its environment, and the servers of its models."""

import json

from carryover.storage.warehouse.reader import Warehouse
from carryover.tasks.running.errors import UserError

RUNS = """
select run_id, plan_name, plan_json, environment_json
from runs
where starts_with(run_id, $start)
order by run_id
limit 6
"""
SERVERS = """
with described_runs as (
    select
        runs.started_at,
        if(json_valid(runs.environment_json), runs.environment_json, null) as environment
    from runs
)

select (described_runs.environment -> '$.server') as server
from described_runs
where (described_runs.environment ->> '$.joined_run') = $run_id
and (described_runs.environment -> '$.server') is not null
order by described_runs.started_at
"""
"""What answered for the models of a run, as the servers' own runs describe it."""


def describe_run(warehouse: Warehouse, start: str) -> dict[str, object]:
    """Return a run's plan, its environment and the servers that answered for its models, as JSON values.

    Raises:
        UserError: No run's id starts so, and the message names the latest; or several do.
    """
    rows = warehouse.sql(RUNS, start=start).rows()
    if not rows:
        known = [row[0] for row in warehouse.sql("select run_id from runs order by started_at desc limit 5").rows()]
        raise UserError(f"no run {start!r}; the latest are {', '.join(known) or 'none'}")
    if len(rows) > 1 and rows[0][0] != start:
        raise UserError(f"several runs start with {start!r}: {', '.join(row[0] for row in rows)}")
    run_id, name, plan, environment = rows[0]
    servers = warehouse.sql(SERVERS, run_id=run_id).rows()
    return {
        "plan_name": name,
        "plan": json.loads(plan),
        "environment": json.loads(environment),
        "servers": [json.loads(server) for (server,) in servers],
    }
