-- Table 6: how episodes ended per cell, with zeros for unseen signals, beside the paper's category of each signal
with counted_signals as (
    select
        measured_on, variant, base, visibility, header, bucket, model, condition,
        finish_reason, finish_category, table_6_category,
        count(*) as episode_count,
        count(*) filter (not is_solved) as unsolved_count
    from marts.episode_metrics
    where plan_digest = $plan_digest and purpose = 'evaluation' and is_last_attempt
    group by all
),

signals as (
    select finish_reason, category as finish_category, table_6_category
    from staging.finish_signals
    where finish_reason not in ('answer', 'max_tokens')  -- not among the paper's: listed if they occur
    union
    -- a signal that nobody listed is of the category `other`
    select finish_reason, finish_category, table_6_category from counted_signals
),

crossed_signals as (
    select
        counted_signals.* exclude (finish_reason, finish_category, table_6_category, episode_count, unsolved_count),
        signals.finish_reason, signals.finish_category, signals.table_6_category,
        cast(sum(episode_count) as bigint) as cell_count,
        coalesce(
            max(episode_count) filter (counted_signals.finish_reason = signals.finish_reason), 0
        ) as episode_count,
        coalesce(
            max(unsolved_count) filter (counted_signals.finish_reason = signals.finish_reason), 0
        ) as unsolved_count
    from counted_signals
    cross join signals
    group by all
)

select
    variant, base, visibility, header, bucket, model, condition, measured_on,
    finish_reason, finish_category, table_6_category, episode_count, unsolved_count,
    episode_count / cell_count as episode_share,
    table6.category as published_category
from crossed_signals
-- the paper names no signal of its category `other`
left join published.table6 on finish_reason = coalesce(table6.finish_signal, table6.category)
order by variant, base, visibility, header, bucket, model desc, condition, finish_reason
