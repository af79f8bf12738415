-- Table 2: quality and cost per cell; ours beside Qwen3-8B
select
    columns(['variant', 'base', 'visibility', 'header', 'bucket']),
    ours.model,
    columns(['condition', 'measured_on']),
    ours.episode_count,
    ours.instance_count,
    ours.score_pct,
    (ours.score_pct_high - ours.score_pct_low) / 2 as score_ci_half_width_pct,
    ours.solved_count,
    ours.mean_steps,
    ours.mean_total_tokens,
    ours.mean_prompt_tokens,
    ours.mean_cached_prompt_tokens,
    ours.mean_completion_tokens,
    ours.mean_seconds,
    ours.score_pct / nullif(ours.mean_total_tokens / 1000, 0) as score_per_1k_total_tokens,
    ours.score_pct / nullif(ours.mean_completion_tokens / 1000, 0) as score_per_1k_completion_tokens,
    theirs.split as qwen3_8b_split,
    theirs.score_pct as qwen3_8b_score_pct,
    theirs.score_ci_half_width_pct as qwen3_8b_score_ci_half_width_pct,
    theirs.solved as qwen3_8b_solved_count,
    theirs.mean_steps as qwen3_8b_mean_steps,
    theirs.mean_total_tokens as qwen3_8b_mean_total_tokens,
    theirs.mean_time_s as qwen3_8b_mean_seconds,
    theirs.score_per_1k_tokens as qwen3_8b_score_per_1k_total_tokens,
    if(has_published_model, ours.score_pct - theirs.score_pct, null) as score_pct_difference,
    if(has_published_model, (ours.score_pct_high - ours.score_pct_low) / 2 - theirs.score_ci_half_width_pct, null)
        as score_ci_half_width_pct_difference,
    if(has_published_model, 100 * (ours.solved_count / ours.episode_count - theirs.solved / theirs.n_tasks), null)
        as solved_pct_difference,
    if(has_published_model, ours.mean_steps - theirs.mean_steps, null) as mean_steps_difference,
    if(has_published_model, ours.mean_total_tokens - theirs.mean_total_tokens, null) as mean_total_tokens_difference,
    if(has_published_model, ours.mean_seconds - theirs.mean_time_s, null) as mean_seconds_difference,
    if(has_published_model, score_per_1k_total_tokens - theirs.score_per_1k_tokens, null)
        as score_per_1k_total_tokens_difference
from marts.evaluated_cells as ours
left join published.table2 as theirs
    on ours.published_split = theirs.split
    and ours.runtime_contract = theirs.runtime_semantics
    and ours.train_contract is not distinct from theirs.train_semantics
    and ours.model <> 'teacher'
    and ours.is_as_published
where ours.plan_digest = $plan_digest
order by variant, base, visibility, header, bucket, model desc, condition
