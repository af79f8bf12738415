-- The 2x2: tokens, missing names and scores per trained cell, with the wider of the intervals; token ratios are to P->P
-- over several seeds a statistic has two intervals: of resampled seeds and instances, and Student's t over the seeds
with widest_intervals as (
    select
        columns(['variant', 'base', 'visibility', 'header', 'bucket']),
        statistics.train_a as train_contract,
        statistics.runtime_a as runtime_contract,
        arg_max(statistics, high - low) filter (analysis = 'mean' and metric = 'total_tokens') as tokens,
        arg_max(statistics, high - low) filter (analysis = 'mean' and metric = 'has_missing_name') as missing_names,
        arg_max(statistics, high - low) filter (analysis = 'mean' and metric = 'score') as scores,
        arg_max(statistics, high - low) filter (
            analysis = 'ratio' and metric = 'total_tokens' and comparison_group = 'against_aligned'
        ) as ratios,
        max(estimate) filter (
            analysis = 'ratio'
            and metric = 'total_tokens'
            and comparison_group = 'against_aligned'
            and interval_kind = 'percentile'
        ) as token_ratio
    from main.statistics
    where statistics.plan_digest = $plan_digest
        and statistics.interval_kind in ('percentile', 't over seeds')
    group by all
)

select
    columns(['variant', 'base', 'visibility', 'header', 'bucket']),
    evaluated_cells.measured_on,
    evaluated_cells.condition,
    evaluated_cells.seed_count,
    columns(['episode_count', 'ended_count']),
    evaluated_cells.mean_total_tokens as mean_tokens,
    columns(['median_tokens', 'mean_tokens_of_ended']),
    evaluated_cells.missing_name_episode_pct as missing_name_pct,
    columns(['score_pct', 'median_score_pct', 'score_of_ended_pct', 'imports_per_step', 'state_utilization']),
    tokens.low as mean_tokens_low,
    tokens.high as mean_tokens_high,
    100 * missing_names.low as missing_name_pct_low,
    100 * missing_names.high as missing_name_pct_high,
    100 * scores.low as score_pct_low,
    100 * scores.high as score_pct_high,
    widest_intervals.token_ratio,
    ratios.low as token_ratio_low,
    ratios.high as token_ratio_high
from marts.evaluated_cells
left join widest_intervals
    using (variant, base, visibility, header, bucket, train_contract, runtime_contract)
where evaluated_cells.plan_digest = $plan_digest
    and evaluated_cells.model = 'sft'
order by
    variant <> 'main',
    variant,
    list_position(['scratch', 'common', 'both'], base) nulls last,
    bucket,
    visibility desc,
    header desc,
    condition
