-- Some episodes with their metrics, plans and instances.
select
    episodes.* exclude (run_id),
    runs.run_id, runs.plan_name,
    episode_metrics.condition, episode_metrics.model, episode_metrics.failure_class, episode_metrics.missing_name_count,
    episode_metrics.context_lifespan, episode_metrics.interpreter_lifespan,
    instances.seed, instances.item_count, instances.capacity, instances.inspection_budget, instances.allowed_classes,
    instances.optimal_value
from episodes
inner join runs on episodes.run_id = runs.run_id
left join marts.episode_metrics
    on episodes.episode_id = episode_metrics.episode_id and episodes.plan_digest = episode_metrics.plan_digest
left join instances on episodes.instance_id = instances.instance_id and episodes.split = instances.split
where episodes.episode_id in (select unnest($episode_ids))
order by episodes.episode_id
