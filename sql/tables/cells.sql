-- The 2x2: tokens, missing names and scores per trained or imported cell, wider intervals; token ratios are to P->P
with token_ratios as (
    select
        variant, base, visibility, header, bucket,
        train_a as train_contract,
        runtime_a as runtime_contract,
        max(estimate) filter (interval_kind = 'percentile') as token_ratio,
        arg_max(low, high - low) as token_ratio_low,
        arg_max(high, high - low) as token_ratio_high
    from main.statistics
    where plan_digest = $plan_digest
        and analysis = 'ratio'
        and metric = 'total_tokens'
        and comparison_group = 'against_aligned'
        and staging.is_main_interval(interval_kind)
    group by all
)

select
    variant, base, visibility, header, bucket,
    measured_on, condition, seed_count, episode_count, ended_count,
    mean_total_tokens as mean_tokens,
    median_tokens, mean_tokens_of_ended,
    missing_name_episode_pct as missing_name_pct,
    score_pct, median_score_pct, score_of_ended_pct, imports_per_step, state_utilization,
    columns('^widest_mean_total_tokens_(low|high)$') as 'mean_tokens_\1',
    columns('^widest_missing_name_episode_pct_(low|high)$') as 'missing_name_pct_\1',
    columns('^widest_(score_pct_(low|high))$') as '\1',
    token_ratio, token_ratio_low, token_ratio_high
from marts.evaluated_cells
left join token_ratios using (variant, base, visibility, header, bucket, train_contract, runtime_contract)
where plan_digest = $plan_digest and (model = 'sft' or scale = 'import')
order by
    variant <> 'main', variant, staging.base_position(base) nulls last, bucket,
    visibility desc, header desc, condition
