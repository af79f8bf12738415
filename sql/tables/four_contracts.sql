-- Four contracts: every model under every runtime, where objects are injected too; with the wider of the intervals
select
    variant, base, visibility, header, bucket, measured_on,
    condition as cell,
    seed_count, episode_count,
    mean_total_tokens as mean_tokens,
    score_pct, solved_pct,
    missing_name_episode_pct as missing_name_pct,
    missing_names_per_episode,
    widest_mean_total_tokens_low as mean_tokens_low,
    widest_mean_total_tokens_high as mean_tokens_high,
    widest_score_pct_low as score_pct_low,
    widest_score_pct_high as score_pct_high,
    widest_solved_pct_low as solved_pct_low,
    widest_solved_pct_high as solved_pct_high,
    widest_missing_name_episode_pct_low as missing_name_pct_low,
    widest_missing_name_episode_pct_high as missing_name_pct_high,
    widest_missing_names_per_episode_low as missing_names_per_episode_low,
    widest_missing_names_per_episode_high as missing_names_per_episode_high
from marts.evaluated_cells
where plan_digest = $plan_digest and model <> 'teacher'
-- a study that injects nothing has its table `cells`
qualify bool_or(runtime_contract like 'injected%') over (partition by variant, base, visibility, header, bucket)
order by
    variant, base desc, bucket, visibility desc, header desc,
    list_position(['persistent', 'stateless', 'injected', 'injected+persistent'], train_contract) nulls last,
    list_position(['persistent', 'stateless', 'injected', 'injected+persistent'], runtime_contract)
