-- one row per evaluated cell with its behaviour, ours beside Qwen3-8B; Tables 9 and 10 and Figure 3 read this
select
    ours.plan_digest,
    ours.published_split,
    columns(['variant', 'base', 'visibility', 'header', 'bucket', 'model', 'condition', 'measured_on']),
    ours.episode_count,
    ours.total_turns,
    ours.context_lifespan,
    ours.interpreter_lifespan,
    ours.imports_per_step,
    ours.state_utilization,
    ours.redefinitions_per_step,
    ours.state_footprint,
    ours.unparsed_step_count,
    theirs.split as qwen3_8b_split,
    theirs.total_turns as qwen3_8b_total_turns,
    theirs.context_lifespan as qwen3_8b_context_lifespan,
    theirs.interpreter_lifespan as qwen3_8b_interpreter_lifespan,
    theirs.imports_per_step as qwen3_8b_imports_per_step,
    theirs.state_utilization as qwen3_8b_state_utilization,
    theirs.redefinitions_per_step as qwen3_8b_redefinitions_per_step,
    if(has_published_model, ours.mean_steps - theirs.total_turns / theirs.episode_count, null) as mean_turns_difference,
    if(has_published_model, ours.context_lifespan - theirs.context_lifespan, null) as context_lifespan_difference,
    if(has_published_model, ours.interpreter_lifespan - theirs.interpreter_lifespan, null)
        as interpreter_lifespan_difference,
    if(has_published_model, ours.imports_per_step - theirs.imports_per_step, null) as imports_per_step_difference,
    if(has_published_model, ours.state_utilization - theirs.state_utilization, null) as state_utilization_difference,
    if(has_published_model, ours.redefinitions_per_step - theirs.redefinitions_per_step, null)
        as redefinitions_per_step_difference
from marts.evaluated_cells as ours
left join staging.published_behaviour as theirs
    on ours.published_split = theirs.split
    and ours.train_contract = theirs.train_semantics
    and ours.runtime_contract = theirs.runtime_semantics
    and ours.is_as_published
order by plan_digest, variant, base, visibility, header, bucket, model desc, condition
