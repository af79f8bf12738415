-- Plans that have a run, latest first.
select plan_digest
from runs
group by plan_digest
order by max(started_at) desc, plan_digest
