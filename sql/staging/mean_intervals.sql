-- one row per cell with the ends of its means' intervals: the bootstrap percentile one, and the widest of them
-- over several seeds a mean has two: of resampled seeds and instances, and Student's t over the seeds
with widest_intervals as (
    select
        statistics.plan_digest,
        variant, base, visibility, header, bucket,
        statistics.train_a as train_contract,
        statistics.runtime_a as runtime_contract,
        max(statistics) filter (metric = 'score' and interval_kind = 'percentile') as score,
        max(statistics) filter (metric = 'total_tokens' and interval_kind = 'percentile') as total_tokens,
        arg_max(statistics, high - low) filter (metric = 'total_tokens') as tokens,
        arg_max(statistics, high - low) filter (metric = 'score') as scores,
        arg_max(statistics, high - low) filter (metric = 'is_solved') as solved,
        arg_max(statistics, high - low) filter (metric = 'has_missing_name') as missing_names,
        arg_max(statistics, high - low) filter (metric = 'missing_name_count') as missing_name_counts
    from main.statistics
    where statistics.analysis = 'mean'
        and statistics.interval_kind in ('percentile', 't over seeds')
    group by all
)

select
    plan_digest, variant, base, visibility, header, bucket, train_contract, runtime_contract,
    100 * score.low as score_pct_low,
    100 * score.high as score_pct_high,
    total_tokens.low as mean_total_tokens_low,
    total_tokens.high as mean_total_tokens_high,
    tokens.low as widest_mean_total_tokens_low,
    tokens.high as widest_mean_total_tokens_high,
    100 * scores.low as widest_score_pct_low,
    100 * scores.high as widest_score_pct_high,
    100 * solved.low as widest_solved_pct_low,
    100 * solved.high as widest_solved_pct_high,
    100 * missing_names.low as widest_missing_name_episode_pct_low,
    100 * missing_names.high as widest_missing_name_episode_pct_high,
    missing_name_counts.low as widest_missing_names_per_episode_low,
    missing_name_counts.high as widest_missing_names_per_episode_high
from widest_intervals
order by plan_digest, variant, base, visibility, header, bucket, train_contract, runtime_contract
