-- The counted episodes of a plan, also reused ones, or of all plans where it is null: one attempt each, none failed.
select episodes.* replace (coalesce($plan_digest, episodes.plan_digest) as plan_digest)
from episodes
where episodes.episode_id in (
    select episode_metrics.episode_id
    from marts.episode_metrics
    where episode_metrics.is_counted and coalesce(episode_metrics.plan_digest = $plan_digest, true)
)
