-- What a plan's episodes were measured on, evaluated models first.
select measured_on
from marts.episode_metrics
where plan_digest = $plan_digest
order by purpose = 'teacher' or base = 'teacher', measured_on
limit 1
