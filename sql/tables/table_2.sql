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
    staging.minus_published(score_pct, qwen3_8b_score_pct, has_published_model) as score_pct_difference,
    staging.minus_published((score_pct_high - score_pct_low) / 2, qwen3_8b_score_ci_half_width_pct, has_published_model)
        as score_ci_half_width_pct_difference,
    100 * staging.minus_published(
        solved_count / episode_count, qwen3_8b_solved_count / qwen3_8b_episode_count, has_published_model
    ) as solved_pct_difference,
    staging.minus_published(mean_steps, qwen3_8b_mean_steps, has_published_model) as mean_steps_difference,
    staging.minus_published(mean_total_tokens, qwen3_8b_mean_total_tokens, has_published_model)
        as mean_total_tokens_difference,
    staging.minus_published(mean_seconds, qwen3_8b_mean_seconds, has_published_model) as mean_seconds_difference,
    staging.minus_published(score_per_1k_total_tokens, qwen3_8b_score_per_1k_total_tokens, has_published_model)
        as score_per_1k_total_tokens_difference
from marts.evaluated_cells
where evaluated_cells.plan_digest = $plan_digest
order by variant, base, visibility, header, bucket, model desc, condition
