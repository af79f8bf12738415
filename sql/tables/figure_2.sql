-- Figure 2: tokens per episode against normalized optimality, one point per cell; ours and Qwen3-8B's
select
    columns(['variant', 'base', 'visibility', 'header', 'bucket']),
    ours.model,
    columns(['condition', 'measured_on']),
    ours.mean_total_tokens,
    ours.mean_total_tokens_low,
    ours.mean_total_tokens_high,
    ours.score_pct,
    ours.score_pct_low,
    ours.score_pct_high,
    theirs.split as qwen3_8b_split,
    theirs.mean_total_tokens as qwen3_8b_mean_total_tokens,
    theirs.score_pct as qwen3_8b_score_pct,
    if(has_published_model, ours.mean_total_tokens - theirs.mean_total_tokens, null) as mean_total_tokens_difference,
    if(has_published_model, ours.score_pct - theirs.score_pct, null) as score_pct_difference
from marts.evaluated_cells as ours
left join published.table2 as theirs
    on ours.published_split = theirs.split
    and ours.runtime_contract = theirs.runtime_semantics
    and ours.train_contract is not distinct from theirs.train_semantics
    and ours.model <> 'teacher'
    and ours.is_as_published
where ours.plan_digest = $plan_digest
order by variant, base, visibility, header, bucket, model desc, condition
