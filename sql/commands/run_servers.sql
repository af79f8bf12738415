-- The servers that answered for the models of a run, as the servers' own runs describe them.
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
