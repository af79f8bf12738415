-- the task families that a plan's episodes were played on
select distinct family
from marts.episode_metrics
where plan_digest = $plan_digest
order by family
