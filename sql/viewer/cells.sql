-- One row per cell of a plan with counts, means and the wider of their intervals.
with counted_cells as (
    select
        plan_digest, variant, base, visibility, header, bucket, purpose, model, condition, measured_on,
        train_contract, runtime_contract,
        count(*) as episode_count,
        count(*) filter (finish_category = 'normal') as ended_count,
        cast(sum(cast(is_solved as integer)) as bigint) as solved_count,
        count(*) filter (has_missing_name) as missing_name_count,
        100 * avg(score) as score_pct,
        avg(total_tokens) as mean_tokens,
        100 * avg(cast(has_missing_name as integer)) as missing_name_pct
    from marts.episode_metrics
    where plan_digest = $plan_digest and is_counted
    group by all
)

select
    counted_cells.* exclude (plan_digest),
    widest_score_pct_low as score_pct_low,
    widest_score_pct_high as score_pct_high,
    widest_mean_total_tokens_low as mean_tokens_low,
    widest_mean_total_tokens_high as mean_tokens_high,
    widest_missing_name_episode_pct_low as missing_name_pct_low,
    widest_missing_name_episode_pct_high as missing_name_pct_high
from counted_cells
left join staging.mean_intervals
    on counted_cells.purpose = 'evaluation'
    and (counted_cells.plan_digest, counted_cells.variant, counted_cells.base, counted_cells.visibility,
         counted_cells.header, counted_cells.bucket, counted_cells.runtime_contract)
    = (mean_intervals.plan_digest, mean_intervals.variant, mean_intervals.base, mean_intervals.visibility,
       mean_intervals.header, mean_intervals.bucket, mean_intervals.runtime_contract)
    and counted_cells.train_contract is not distinct from mean_intervals.train_contract
order by
    counted_cells.purpose, counted_cells.variant <> 'main', counted_cells.variant,
    list_position(['scratch', 'common', 'both', 'hub'], counted_cells.base) nulls last, counted_cells.base,
    counted_cells.bucket, counted_cells.visibility desc, counted_cells.header desc, counted_cells.condition
