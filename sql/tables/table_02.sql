-- Table 2: quality and cost per cell; ours beside Qwen3-8B
select
    columns(['variant', 'base', 'visibility', 'header', 'bucket']),
    evaluated_cells.model,
    columns(['condition', 'measured_on']),
    evaluated_cells.episode_count,
    evaluated_cells.instance_count,
    evaluated_cells.score_pct,
    (evaluated_cells.score_pct_high - evaluated_cells.score_pct_low) / 2 as score_ci_half_width_pct,
    evaluated_cells.solved_count,
    evaluated_cells.mean_steps,
    evaluated_cells.mean_total_tokens,
    evaluated_cells.mean_prompt_tokens,
    evaluated_cells.mean_cached_prompt_tokens,
    evaluated_cells.mean_completion_tokens,
    evaluated_cells.mean_seconds,
    evaluated_cells.score_pct / nullif(evaluated_cells.mean_total_tokens / 1000, 0) as score_per_1k_total_tokens,
    evaluated_cells.score_pct / nullif(evaluated_cells.mean_completion_tokens / 1000, 0)
        as score_per_1k_completion_tokens,
    table2.split as qwen3_8b_split,
    table2.score_pct as qwen3_8b_score_pct,
    table2.score_ci_half_width_pct as qwen3_8b_score_ci_half_width_pct,
    table2.solved as qwen3_8b_solved_count,
    table2.mean_steps as qwen3_8b_mean_steps,
    table2.mean_total_tokens as qwen3_8b_mean_total_tokens,
    table2.mean_time_s as qwen3_8b_mean_seconds,
    table2.score_per_1k_tokens as qwen3_8b_score_per_1k_total_tokens,
    if(has_published_model, evaluated_cells.score_pct - table2.score_pct, null) as score_pct_difference,
    if(
        evaluated_cells.has_published_model,
        (evaluated_cells.score_pct_high - evaluated_cells.score_pct_low) / 2 - table2.score_ci_half_width_pct,
        null
    ) as score_ci_half_width_pct_difference,
    if(
        has_published_model,
        100 * (evaluated_cells.solved_count / evaluated_cells.episode_count - table2.solved / table2.n_tasks),
        null
    ) as solved_pct_difference,
    if(has_published_model, evaluated_cells.mean_steps - table2.mean_steps, null) as mean_steps_difference,
    if(has_published_model, evaluated_cells.mean_total_tokens - table2.mean_total_tokens, null)
        as mean_total_tokens_difference,
    if(has_published_model, evaluated_cells.mean_seconds - table2.mean_time_s, null) as mean_seconds_difference,
    if(has_published_model, score_per_1k_total_tokens - table2.score_per_1k_tokens, null)
        as score_per_1k_total_tokens_difference
from marts.evaluated_cells
left join published.table2
    on evaluated_cells.published_split = table2.split
    and evaluated_cells.runtime_contract = table2.runtime_semantics
    and evaluated_cells.train_contract is not distinct from table2.train_semantics
    and evaluated_cells.model <> 'teacher'
    and evaluated_cells.is_as_published
where evaluated_cells.plan_digest = $plan_digest
order by variant, base, visibility, header, bucket, model desc, condition
