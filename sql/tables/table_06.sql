-- Table 6: how episodes ended per cell, beside the paper's category of each signal
with counted_signals as (
    select
        episode_metrics.measured_on,
        episode_metrics.variant,
        episode_metrics.base,
        episode_metrics.visibility,
        episode_metrics.header,
        episode_metrics.bucket,
        episode_metrics.model,
        episode_metrics.condition,
        episode_metrics.finish_reason,
        episode_metrics.finish_category,
        episode_metrics.table_6_category,
        count(*) as episode_count,
        count(*) filter (not episode_metrics.is_solved) as unsolved_count
    from marts.episode_metrics
    where episode_metrics.plan_digest = $plan_digest
        and episode_metrics.purpose = 'evaluation'
        and episode_metrics.is_last_attempt
    group by all
),

final as (
    select
        counted_signals.variant,
        counted_signals.base,
        counted_signals.visibility,
        counted_signals.header,
        counted_signals.bucket,
        counted_signals.model,
        counted_signals.condition,
        counted_signals.measured_on,
        counted_signals.finish_reason,
        counted_signals.finish_category,
        counted_signals.table_6_category,
        counted_signals.episode_count,
        counted_signals.unsolved_count,
        counted_signals.episode_count / sum(counted_signals.episode_count) over (
            partition by
                counted_signals.variant,
                counted_signals.base,
                counted_signals.visibility,
                counted_signals.header,
                counted_signals.bucket,
                counted_signals.condition
        ) as episode_share,
        table6.category as published_category
    from counted_signals
    left join published.table6 on counted_signals.finish_reason = table6.finish_signal
)

select * from final
order by variant, base, visibility, header, bucket, model desc, condition, finish_reason
