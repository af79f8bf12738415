-- Table 6: how episodes ended per cell, with zeros for unseen signals, beside the paper's category of each signal
with endings as (
    -- counted before the cross join, which would repeat every episode once per signal
    select
        measured_on, variant, base, visibility, header, bucket, model, condition,
        finish_reason as own_reason,
        finish_category, table_6_category,
        count(*) as ending_count,
        count(*) filter (not is_solved) as unsolved_ending_count
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
    select own_reason, finish_category, table_6_category from endings
)

select
    variant, base, visibility, header, bucket, model, condition, measured_on,
    finish_reason, signals.finish_category, signals.table_6_category,
    cast(coalesce(sum(ending_count) filter (own_reason = finish_reason), 0) as bigint) as episode_count,
    cast(coalesce(sum(unsolved_ending_count) filter (own_reason = finish_reason), 0) as bigint) as unsolved_count,
    episode_count / sum(ending_count) as episode_share,
    table_6.category as published_category
from endings
cross join signals
-- the paper names no signal of its category `other`
left join published.table_6 on finish_reason = coalesce(table_6.finish_signal, table_6.category)
group by all
order by variant, base, visibility, header, bucket, model desc, condition, finish_reason
