-- The 2x2: tokens, missing names and scores per trained cell, with the wider of the intervals; token ratios are to P->P
with trained_episodes as (
    select
        *,
        if(finish_category = 'normal', total_tokens, null) as ended_tokens,
        if(finish_category = 'normal', score, null) as ended_score
    from marts.episode_metrics
    where episode_metrics.plan_digest = $plan_digest
        and episode_metrics.purpose = 'evaluation'
        and episode_metrics.train_contract is not null
        and episode_metrics.is_counted
),

measured_cells as (
    select
        trained_episodes.variant,
        trained_episodes.base,
        trained_episodes.visibility,
        trained_episodes.header,
        trained_episodes.bucket,
        trained_episodes.measured_on,
        trained_episodes.condition,
        trained_episodes.train_contract,
        trained_episodes.runtime_contract,
        count(distinct trained_episodes.training_seed) as seed_count,
        count(*) as episode_count,
        count(*) filter (finish_category = 'normal') as ended_count,
        avg(trained_episodes.total_tokens) as mean_tokens,
        median(trained_episodes.total_tokens) as median_tokens,
        avg(trained_episodes.ended_tokens) as mean_tokens_of_ended,
        100 * avg(cast(trained_episodes.has_missing_name as integer)) as missing_name_pct,
        100 * avg(trained_episodes.score) as score_pct,
        100 * median(trained_episodes.score) as median_score_pct,
        100 * avg(trained_episodes.ended_score) as score_of_ended_pct,
        avg(trained_episodes.imports_per_step) as imports_per_step,
        avg(trained_episodes.state_utilization) as state_utilization
    from trained_episodes
    group by all
),

-- over several seeds a statistic has two intervals: of resampled seeds and instances, and Student's t over the seeds
widest_intervals as (
    select
        statistics.variant,
        statistics.base,
        statistics.visibility,
        statistics.header,
        statistics.bucket,
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
),

final as (
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
)

select * from final
order by
    variant <> 'main',
    variant,
    list_position(['scratch', 'common', 'both'], base) nulls last,
    bucket,
    visibility desc,
    header desc,
    condition
