-- one row per evaluated cell with its behaviour, ours beside Qwen3-8B; Tables 9 and 10 and Figure 3 read this
select
    evaluated_cells.plan_digest,
    evaluated_cells.published_split,
    columns(['variant', 'base', 'visibility', 'header', 'bucket', 'model', 'condition', 'measured_on']),
    evaluated_cells.episode_count,
    evaluated_cells.total_turns,
    evaluated_cells.context_lifespan,
    evaluated_cells.interpreter_lifespan,
    evaluated_cells.imports_per_step,
    evaluated_cells.state_utilization,
    evaluated_cells.redefinitions_per_step,
    evaluated_cells.state_footprint,
    evaluated_cells.unparsed_step_count,
    published_behaviour.split as qwen3_8b_split,
    published_behaviour.total_turns as qwen3_8b_total_turns,
    published_behaviour.context_lifespan as qwen3_8b_context_lifespan,
    published_behaviour.interpreter_lifespan as qwen3_8b_interpreter_lifespan,
    published_behaviour.imports_per_step as qwen3_8b_imports_per_step,
    published_behaviour.state_utilization as qwen3_8b_state_utilization,
    published_behaviour.redefinitions_per_step as qwen3_8b_redefinitions_per_step,
    if(
        has_published_model,
        evaluated_cells.mean_steps - published_behaviour.total_turns / published_behaviour.episode_count,
        null
    )
        as mean_turns_difference,
    if(has_published_model, evaluated_cells.context_lifespan - published_behaviour.context_lifespan, null)
        as context_lifespan_difference,
    if(has_published_model, evaluated_cells.interpreter_lifespan - published_behaviour.interpreter_lifespan, null)
        as interpreter_lifespan_difference,
    if(has_published_model, evaluated_cells.imports_per_step - published_behaviour.imports_per_step, null)
        as imports_per_step_difference,
    if(has_published_model, evaluated_cells.state_utilization - published_behaviour.state_utilization, null)
        as state_utilization_difference,
    if(
        has_published_model,
        evaluated_cells.redefinitions_per_step - published_behaviour.redefinitions_per_step,
        null
    )
        as redefinitions_per_step_difference
from marts.evaluated_cells
left join staging.published_behaviour
    on evaluated_cells.published_split = published_behaviour.split
    and evaluated_cells.train_contract = published_behaviour.train_semantics
    and evaluated_cells.runtime_contract = published_behaviour.runtime_semantics
    and evaluated_cells.is_as_published
order by plan_digest, variant, base, visibility, header, bucket, model desc, condition
