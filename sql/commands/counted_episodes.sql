-- The counted episodes of a plan, or of all plans where it is null: one attempt each, without those that failed.
select episodes.*
from episodes
inner join marts.episode_metrics on episodes.episode_id = episode_metrics.episode_id
where episode_metrics.is_counted and coalesce(episodes.plan_digest = $plan_digest, true)
