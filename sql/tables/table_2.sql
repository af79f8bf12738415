-- Table 2: quality and cost per cell; ours beside Qwen3-8B
select
    variant, base, visibility, header, bucket, model, condition, measured_on,
    episode_count, instance_count, score_pct,
    (score_pct_high - score_pct_low) / 2 as score_ci_half_width_pct,
    solved_count, mean_steps, mean_total_tokens, mean_prompt_tokens, mean_cached_prompt_tokens,
    mean_completion_tokens, mean_seconds,
    score_pct / nullif(mean_total_tokens / 1000, 0) as score_per_1k_total_tokens,
    score_pct / nullif(mean_completion_tokens / 1000, 0) as score_per_1k_completion_tokens,
    qwen3_8b_split, qwen3_8b_score_pct, qwen3_8b_score_ci_half_width_pct, qwen3_8b_solved_count,
    qwen3_8b_mean_steps, qwen3_8b_mean_total_tokens, qwen3_8b_mean_seconds,
    evaluated_cells.qwen3_8b_score_per_1k_total_tokens,
    if(has_published_model, score_pct - qwen3_8b_score_pct, null) as score_pct_difference,
    if(has_published_model, (score_pct_high - score_pct_low) / 2 - qwen3_8b_score_ci_half_width_pct, null)
        as score_ci_half_width_pct_difference,
    if(has_published_model, 100 * (solved_count / episode_count - qwen3_8b_solved_count / qwen3_8b_episode_count), null)
        as solved_pct_difference,
    if(has_published_model, mean_steps - qwen3_8b_mean_steps, null) as mean_steps_difference,
    if(has_published_model, mean_total_tokens - qwen3_8b_mean_total_tokens, null) as mean_total_tokens_difference,
    if(has_published_model, mean_seconds - qwen3_8b_mean_seconds, null) as mean_seconds_difference,
    if(has_published_model, score_per_1k_total_tokens - qwen3_8b_score_per_1k_total_tokens, null)
        as score_per_1k_total_tokens_difference
from marts.evaluated_cells
where evaluated_cells.plan_digest = $plan_digest
order by variant, base, visibility, header, bucket, model desc, condition
