-- Figure 2: tokens per episode against normalized optimality, one point per cell; ours and Qwen3-8B's
select
    variant, base, visibility, header, bucket, model, condition, measured_on,
    mean_total_tokens, mean_total_tokens_low, mean_total_tokens_high,
    score_pct, score_pct_low, score_pct_high,
    qwen3_8b_split, qwen3_8b_mean_total_tokens, qwen3_8b_score_pct,
    staging.minus_published(mean_total_tokens, qwen3_8b_mean_total_tokens, has_published_model)
        as mean_total_tokens_difference,
    staging.minus_published(score_pct, qwen3_8b_score_pct, has_published_model) as score_pct_difference
from marts.evaluated_cells
where evaluated_cells.plan_digest = $plan_digest
order by variant, base, visibility, header, bucket, model desc, condition
