-- Failure classes per cell under every reading of appendix D.3: thresholds crossed, then the named variants
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
        episode_failures.reading,
        episode_failures.is_sensitivity,
        episode_failures.is_default,
        count(*) filter (episode_failures.failure_class = 'optimal') as optimal_count,
        count(*) filter (episode_failures.failure_class like '%violation') as violation_count,
        count(*) filter (episode_failures.failure_class = 'execution_instability') as instability_count,
        count(*) filter (episode_failures.failure_class = 'silent_suboptimality') as silent_suboptimality_count,
        count(*) filter (episode_failures.failure_class = 'unclassified') as unclassified_count,
        count(*) filter (episode_failures.failure_class is null) as not_normally_ended_count
    from marts.episode_failures
    inner join marts.episode_metrics on episode_failures.episode_id = episode_metrics.episode_id
    where episode_metrics.plan_digest = $plan_digest
        and episode_metrics.purpose = 'evaluation'
        and episode_metrics.is_last_attempt
    group by all
)

select * from final
order by variant, base, visibility, header, bucket, model desc, cell, is_sensitivity desc, reading
