-- Figure 2: tokens per episode against normalized optimality, one point per cell; ours and Qwen3-8B's
select
    columns(['variant', 'base', 'visibility', 'header', 'bucket']),
    evaluated_cells.model,
    columns(['condition', 'measured_on']),
    evaluated_cells.mean_total_tokens,
    evaluated_cells.mean_total_tokens_low,
    evaluated_cells.mean_total_tokens_high,
    evaluated_cells.score_pct,
    evaluated_cells.score_pct_low,
    evaluated_cells.score_pct_high,
    table2.split as qwen3_8b_split,
    table2.mean_total_tokens as qwen3_8b_mean_total_tokens,
    table2.score_pct as qwen3_8b_score_pct,
    if(has_published_model, evaluated_cells.mean_total_tokens - table2.mean_total_tokens, null)
        as mean_total_tokens_difference,
    if(has_published_model, evaluated_cells.score_pct - table2.score_pct, null) as score_pct_difference
from marts.evaluated_cells
left join published.table2
    on evaluated_cells.published_split = table2.split
    and evaluated_cells.runtime_contract = table2.runtime_semantics
    and evaluated_cells.train_contract is not distinct from table2.train_semantics
    and evaluated_cells.model <> 'teacher'
    and evaluated_cells.is_as_published
where evaluated_cells.plan_digest = $plan_digest
order by variant, base, visibility, header, bucket, model desc, condition
