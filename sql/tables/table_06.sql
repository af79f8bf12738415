-- Table 6: how episodes ended per cell, with zeros for unseen signals, beside the paper's category of each signal
with counted_signals as (
    select
        episode_metrics.measured_on,
        variant, base, visibility, header, bucket, model, condition,
        finish_reason, finish_category, table_6_category,
        count(*) as episode_count,
        count(*) filter (not episode_metrics.is_solved) as unsolved_count
    from marts.episode_metrics
    where episode_metrics.plan_digest = $plan_digest
        and episode_metrics.purpose = 'evaluation'
        and episode_metrics.is_last_attempt
    group by all
),

signals as (
    select
        finish_signals.finish_reason,
        finish_signals.category as finish_category,
        finish_signals.table_6_category
    from staging.finish_signals
    where finish_signals.finish_reason not in ('answer', 'max_tokens')  -- not among the paper's: listed if they occur
    union
    -- a signal that nobody listed is of the category `other`
    select
        finish_reason, finish_category, table_6_category
    from counted_signals
),

crossed_signals as (
    select
        counted_signals.* exclude (finish_reason, finish_category, table_6_category, episode_count, unsolved_count),
        signals.finish_reason, signals.finish_category, signals.table_6_category,
        cast(sum(counted_signals.episode_count) as bigint) as cell_count,
        coalesce(
            max(counted_signals.episode_count) filter (counted_signals.finish_reason = signals.finish_reason), 0
        ) as episode_count,
        coalesce(
            max(counted_signals.unsolved_count) filter (counted_signals.finish_reason = signals.finish_reason), 0
        ) as unsolved_count
    from counted_signals
    cross join signals
    group by all
)

select
    variant, base, visibility, header, bucket, model, condition,
    crossed_signals.measured_on,
    finish_reason, finish_category, table_6_category, episode_count, unsolved_count,
    crossed_signals.episode_count / crossed_signals.cell_count as episode_share,
    table6.category as published_category
from crossed_signals
-- the paper names no signal of its category `other`
left join published.table6 on crossed_signals.finish_reason = coalesce(table6.finish_signal, table6.category)
order by variant, base, visibility, header, bucket, model desc, condition, finish_reason
