-- Table 3: missing names and failure classes per cell; ours beside Qwen3-8B on Hard, classes as counts and as shares
select
    columns(['variant', 'base', 'visibility', 'header', 'bucket', 'model', 'condition', 'measured_on']),
    evaluated_cells.episode_count,
    columns(['missing_name_episode_pct', 'missing_name_total', 'missing_names_per_episode']),
    columns(['missing_names_per_affected_episode', 'optimal_count', 'normally_ended_not_optimal_count']),
    columns(['capacity_violation_count', 'class_violation_count', 'protocol_violation_count']),
    columns(['violation_count', 'instability_count', 'silent_suboptimality_count', 'not_normally_ended_count']),
    -- the paper counts classes among 100 episodes of a cell, so its counts are the shares that ours compare with
    100 * evaluated_cells.normally_ended_not_optimal_count / evaluated_cells.episode_count
        as normally_ended_not_optimal_pct,
    100 * evaluated_cells.violation_count / evaluated_cells.episode_count as violation_pct,
    100 * evaluated_cells.instability_count / evaluated_cells.episode_count as instability_pct,
    100 * evaluated_cells.silent_suboptimality_count / evaluated_cells.episode_count as silent_suboptimality_pct,
    -- derived as the published one is: neither solved nor ended normally
    100 * (
        evaluated_cells.episode_count
        - evaluated_cells.solved_count
        - evaluated_cells.normally_ended_not_optimal_count
    ) / evaluated_cells.episode_count as not_normally_ended_unsolved_pct,
    table3.pct_episodes_unresolved_ref as qwen3_8b_hard_missing_name_episode_pct,
    table3.unresolved_ref_per_episode as qwen3_8b_hard_missing_names_per_episode,
    table3.normally_terminated_non_optimal as qwen3_8b_hard_normally_ended_not_optimal_count,
    table3.constraint_or_protocol_violation as qwen3_8b_hard_violation_count,
    table3.execution_instability as qwen3_8b_hard_instability_count,
    table3.silent_suboptimality as qwen3_8b_hard_silent_suboptimality_count,
    terminations_derived.not_normally_terminated_unsolved as qwen3_8b_hard_not_normally_ended_count,
    if(has_published_model, evaluated_cells.missing_name_episode_pct - table3.pct_episodes_unresolved_ref, null)
        as missing_name_episode_pct_difference,
    if(has_published_model, evaluated_cells.missing_names_per_episode - table3.unresolved_ref_per_episode, null)
        as missing_names_per_episode_difference,
    if(has_published_model, normally_ended_not_optimal_pct - table3.normally_terminated_non_optimal, null)
        as normally_ended_not_optimal_pct_difference,
    if(has_published_model, violation_pct - table3.constraint_or_protocol_violation, null)
        as violation_pct_difference,
    if(has_published_model, instability_pct - table3.execution_instability, null) as instability_pct_difference,
    if(has_published_model, silent_suboptimality_pct - table3.silent_suboptimality, null)
        as silent_suboptimality_pct_difference,
    if(has_published_model, not_normally_ended_unsolved_pct - not_normally_terminated_unsolved, null)
        as not_normally_ended_unsolved_pct_difference
from marts.evaluated_cells
-- the paper tells this of Hard alone, which stands beside every bucket that is ours
left join published.table3
    on (evaluated_cells.published_split = table3.split or evaluated_cells.bucket not in ('easy', 'hard'))
    and evaluated_cells.train_contract = table3.train_semantics
    and evaluated_cells.runtime_contract = table3.runtime_semantics
    and evaluated_cells.is_as_published
left join published.terminations_derived
    on table3.split = terminations_derived.split
    and table3.train_semantics = terminations_derived.train_semantics
    and table3.runtime_semantics = terminations_derived.runtime_semantics
where evaluated_cells.plan_digest = $plan_digest
order by variant, base, visibility, header, bucket, model desc, condition
