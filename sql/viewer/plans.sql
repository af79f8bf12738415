-- The plans of the warehouse with a run, the latest first.
select
    plan_digest,
    arg_max(plan_name, started_at) as plan_name,
    arg_max(scale, started_at) as scale,
    max(started_at) as started_at
from runs
group by plan_digest
order by started_at desc
