-- The servers that answered for the models of a run, as the servers' own runs describe them.
select environment_json -> '$.server' as server
from runs
where flow = 'serve_models' and (environment_json ->> '$.joined_run') = $run_id
order by started_at
