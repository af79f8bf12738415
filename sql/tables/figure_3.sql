-- Figure 3: state use, imports and lifespans per trained cell; ours and Qwen3-8B's
select
    variant, base, visibility, header, bucket, condition, measured_on,
    state_utilization, imports_per_step, context_lifespan, interpreter_lifespan,
    qwen3_8b_split, qwen3_8b_state_utilization, qwen3_8b_imports_per_step,
    qwen3_8b_context_lifespan, qwen3_8b_interpreter_lifespan,
    state_utilization_difference, imports_per_step_difference,
    context_lifespan_difference, interpreter_lifespan_difference
from marts.measured_behaviour
where measured_behaviour.plan_digest = $plan_digest
    and measured_behaviour.model = 'sft'
order by variant, base, visibility, header, bucket, condition
