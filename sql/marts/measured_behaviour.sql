-- one row per evaluated cell with its behaviour, ours beside Qwen3-8B; Tables 9 and 10 and Figure 3 read this
select
    plan_digest, published_split,
    variant, base, visibility, header, bucket, model, condition, measured_on,
    episode_count, total_turns, context_lifespan, interpreter_lifespan, imports_per_step,
    state_utilization, redefinitions_per_step, state_footprint,
    evaluated_cells.unparsed_step_count,
    -- the paper's tables of behaviour have no row of the base model
    if(model = 'sft', qwen3_8b_split, null) as qwen3_8b_split,
    qwen3_8b_total_turns, qwen3_8b_context_lifespan, qwen3_8b_interpreter_lifespan,
    qwen3_8b_imports_per_step, qwen3_8b_state_utilization, qwen3_8b_redefinitions_per_step,
    if(has_published_model, mean_steps - qwen3_8b_total_turns / qwen3_8b_episode_count, null) as mean_turns_difference,
    if(has_published_model, context_lifespan - qwen3_8b_context_lifespan, null) as context_lifespan_difference,
    if(has_published_model, interpreter_lifespan - qwen3_8b_interpreter_lifespan, null)
        as interpreter_lifespan_difference,
    if(has_published_model, imports_per_step - qwen3_8b_imports_per_step, null) as imports_per_step_difference,
    if(has_published_model, state_utilization - qwen3_8b_state_utilization, null) as state_utilization_difference,
    if(has_published_model, redefinitions_per_step - qwen3_8b_redefinitions_per_step, null)
        as redefinitions_per_step_difference
from marts.evaluated_cells
order by plan_digest, variant, base, visibility, header, bucket, model desc, condition
