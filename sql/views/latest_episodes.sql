-- one row per episode of the latest finished plan, with every metric: marts.episode_metrics without other plans
select episode_metrics.*
from marts.episode_metrics
semi join staging.latest_plan on episode_metrics.plan_digest = latest_plan.plan_digest
order by episode_id
