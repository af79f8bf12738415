-- Behaviour per cell under every reading of appendix F
with final as (
    select
        episode_metrics.variant,
        episode_metrics.base,
        episode_metrics.visibility,
        episode_metrics.header,
        episode_metrics.bucket,
        episode_metrics.model,
        episode_metrics.condition as cell,
        episode_metrics.measured_on,
        episode_behaviour.reading,
        episode_behaviour.is_default,
        avg(episode_behaviour.context_lifespan) as context_lifespan,
        avg(episode_behaviour.interpreter_lifespan) as interpreter_lifespan,
        avg(episode_behaviour.state_utilization) as state_utilization,
        avg(episode_behaviour.redefinitions_per_step) as redefinitions_per_step
    from marts.episode_behaviour
    inner join marts.episode_metrics on episode_behaviour.episode_id = episode_metrics.episode_id
    where episode_metrics.plan_digest = $plan_digest
        and episode_metrics.purpose = 'evaluation'
        and episode_metrics.is_last_attempt
    group by all
)

select * from final
order by variant, base, visibility, header, bucket, model desc, cell, is_default desc, reading
