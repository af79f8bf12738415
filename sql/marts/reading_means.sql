-- one row per evaluated cell and reading of the behaviour metrics, with its means over episodes
select
    plan_digest, measured_on, variant, base, visibility, header, bucket, model, condition, reading, is_default,
    avg(episode_behaviour.context_lifespan) as context_lifespan,
    avg(episode_behaviour.interpreter_lifespan) as interpreter_lifespan,
    avg(episode_behaviour.state_utilization) as state_utilization,
    avg(episode_behaviour.redefinitions_per_step) as redefinitions_per_step
from marts.episode_behaviour
inner join marts.episode_metrics using (episode_id)
where purpose = 'evaluation' and is_counted
group by all
order by plan_digest, variant, base, visibility, header, bucket, condition, reading
