-- Flows other than `import` that have runs of a plan.
select distinct flow
from runs
where plan_digest = $plan and flow <> 'import'
