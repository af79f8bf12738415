-- The 2x2: tokens, missing names and scores per trained cell, with the wider of the intervals; token ratios are to P->P
with measured_cells as (
    select
        columns(['variant', 'base', 'visibility', 'header', 'bucket']),
        episode_metrics.measured_on,
        episode_metrics.condition,
        columns(['train_contract', 'runtime_contract']),
        count(distinct training_seed) as seed_count,
        count(*) as episode_count,
        count(*) filter (finish_category = 'normal') as ended_count,
        avg(total_tokens) as mean_tokens,
        median(total_tokens) as median_tokens,
        avg(total_tokens) filter (finish_category = 'normal') as mean_tokens_of_ended,
        100 * avg(cast(has_missing_name as integer)) as missing_name_pct,
        100 * avg(score) as score_pct,
        100 * median(score) as median_score_pct,
        100 * avg(score) filter (finish_category = 'normal') as score_of_ended_pct,
        avg(episode_metrics.imports_per_step) as imports_per_step,
        avg(episode_metrics.state_utilization) as state_utilization
    from marts.episode_metrics
    where episode_metrics.plan_digest = $plan_digest
        and episode_metrics.purpose = 'evaluation'
        and episode_metrics.train_contract is not null
        and episode_metrics.is_counted
    group by all
),

-- over several seeds a statistic has two intervals: of resampled seeds and instances, and Student's t over the seeds
widest_intervals as (
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
    measured_cells.* exclude (train_contract, runtime_contract),
    tokens.low as mean_tokens_low,
    tokens.high as mean_tokens_high,
    100 * missing_names.low as missing_name_pct_low,
    100 * missing_names.high as missing_name_pct_high,
    100 * scores.low as score_pct_low,
    100 * scores.high as score_pct_high,
    widest_intervals.token_ratio,
    ratios.low as token_ratio_low,
    ratios.high as token_ratio_high
from measured_cells
left join widest_intervals
    using (variant, base, visibility, header, bucket, train_contract, runtime_contract)
order by
    variant <> 'main',
    variant,
    list_position(['scratch', 'common', 'both'], base) nulls last,
    bucket,
    visibility desc,
    header desc,
    condition
