-- one row per counted episode of the latest finished plan, with every metric; variants and buckets are kept apart by
-- their columns: the study itself is variant 'main'
select episode_metrics.*
from marts.episode_metrics
semi join staging.latest_plan on episode_metrics.plan_digest = latest_plan.plan_digest
where is_counted
order by episode_id
