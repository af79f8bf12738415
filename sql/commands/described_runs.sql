-- Runs whose id starts with given characters, with plan and environment.
select
    run_id, plan_name, plan_json, environment_json
from runs
where starts_with(run_id, $start)
order by run_id
limit 6
