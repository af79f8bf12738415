-- Four contracts: every model under every runtime, where objects are injected too; with the wider of the intervals
select
    variant, base, visibility, header, bucket, measured_on,
    condition as cell,
    seed_count, episode_count,
    mean_total_tokens as mean_tokens,
    score_pct, solved_pct,
    missing_name_episode_pct as missing_name_pct,
    missing_names_per_episode,
    columns('^widest_mean_total_tokens_(low|high)$') as 'mean_tokens_\1',
    columns('^widest_((score|solved)_pct_(low|high))$') as '\1',
    columns('^widest_missing_name_episode_pct_(low|high)$') as 'missing_name_pct_\1',
    columns('^widest_missing_names_per_episode_(low|high)$') as 'missing_names_per_episode_\1'
from marts.evaluated_cells
where plan_digest = $plan_digest and model <> 'teacher'
-- a study that injects nothing has its table `cells`
qualify bool_or(runtime_contract like 'injected%') over (partition by variant, base, visibility, header, bucket)
order by
    variant, base desc, bucket, visibility desc, header desc,
    list_position(['persistent', 'stateless', 'injected', 'injected+persistent'], train_contract) nulls last,
    list_position(['persistent', 'stateless', 'injected', 'injected+persistent'], runtime_contract)
