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
    staging.minus_published(mean_steps, qwen3_8b_total_turns / qwen3_8b_episode_count, has_published_model)
        as mean_turns_difference,
    staging.minus_published(context_lifespan, qwen3_8b_context_lifespan, has_published_model)
        as context_lifespan_difference,
    staging.minus_published(interpreter_lifespan, qwen3_8b_interpreter_lifespan, has_published_model)
        as interpreter_lifespan_difference,
    staging.minus_published(imports_per_step, qwen3_8b_imports_per_step, has_published_model)
        as imports_per_step_difference,
    staging.minus_published(state_utilization, qwen3_8b_state_utilization, has_published_model)
        as state_utilization_difference,
    staging.minus_published(redefinitions_per_step, qwen3_8b_redefinitions_per_step, has_published_model)
        as redefinitions_per_step_difference
from marts.evaluated_cells
order by plan_digest, variant, base, visibility, header, bucket, model desc, condition
