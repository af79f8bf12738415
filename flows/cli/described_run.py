"""What a run was: its plan, its environment, and the servers of its models."""

import json

from storage.warehouse import Warehouse
from tasks.running.errors import UserError

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


def describe_run(warehouse: Warehouse, run_id: str) -> dict[str, object]:
    """Return a run's plan, its environment and the servers that answered for its models, as JSON values.

    Raises:
        UserError: There is no run of that id; the message names the latest.
    """
    rows = warehouse.sql(
        "select plan_name, plan_json, environment_json from runs where run_id = $run_id", run_id=run_id
    ).rows()
    if not rows:
        known = [row[0] for row in warehouse.sql("select run_id from runs order by started_at desc limit 5").rows()]
        raise UserError(f"no run {run_id!r}; the latest are {', '.join(known) or 'none'}")
    ((name, plan, environment),) = rows
    servers = warehouse.sql(SERVERS, run_id=run_id).rows()
    return {
        "plan_name": name,
        "plan": json.loads(plan),
        "environment": json.loads(environment),
        "servers": [json.loads(server) for (server,) in servers],
    }
