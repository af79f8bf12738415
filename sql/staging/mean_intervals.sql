-- one row per cell with the ends of its means' intervals: the bootstrap percentile one, and the widest of them
-- over several seeds a mean has two: of resampled seeds and instances, and Student's t over the seeds
select
    plan_digest, variant, base, visibility, header, bucket,
    train_a as train_contract,
    runtime_a as runtime_contract,
    100 * max(low) filter (metric = 'score' and interval_kind = 'percentile') as score_pct_low,
    100 * max(high) filter (metric = 'score' and interval_kind = 'percentile') as score_pct_high,
    max(low) filter (metric = 'total_tokens' and interval_kind = 'percentile') as mean_total_tokens_low,
    max(high) filter (metric = 'total_tokens' and interval_kind = 'percentile') as mean_total_tokens_high,
    arg_max(low, high - low) filter (metric = 'total_tokens') as widest_mean_total_tokens_low,
    arg_max(high, high - low) filter (metric = 'total_tokens') as widest_mean_total_tokens_high,
    100 * arg_max(low, high - low) filter (metric = 'score') as widest_score_pct_low,
    100 * arg_max(high, high - low) filter (metric = 'score') as widest_score_pct_high,
    100 * arg_max(low, high - low) filter (metric = 'is_solved') as widest_solved_pct_low,
    100 * arg_max(high, high - low) filter (metric = 'is_solved') as widest_solved_pct_high,
    100 * arg_max(low, high - low) filter (metric = 'has_missing_name') as widest_missing_name_episode_pct_low,
    100 * arg_max(high, high - low) filter (metric = 'has_missing_name') as widest_missing_name_episode_pct_high,
    arg_max(low, high - low) filter (metric = 'missing_name_count') as widest_missing_names_per_episode_low,
    arg_max(high, high - low) filter (metric = 'missing_name_count') as widest_missing_names_per_episode_high
from main.statistics
where analysis = 'mean' and staging.is_main_interval(interval_kind)
group by all
order by plan_digest, variant, base, visibility, header, bucket, train_contract, runtime_contract
