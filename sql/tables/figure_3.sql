-- Figure 3: state use, imports and lifespans per trained cell; ours and Qwen3-8B's
select
    columns(['variant', 'base', 'visibility', 'header', 'bucket', 'condition', 'measured_on']),
    measured_behaviour.state_utilization,
    measured_behaviour.imports_per_step,
    measured_behaviour.context_lifespan,
    measured_behaviour.interpreter_lifespan,
    measured_behaviour.qwen3_8b_split,
    measured_behaviour.qwen3_8b_state_utilization,
    measured_behaviour.qwen3_8b_imports_per_step,
    measured_behaviour.qwen3_8b_context_lifespan,
    measured_behaviour.qwen3_8b_interpreter_lifespan,
    measured_behaviour.state_utilization_difference,
    measured_behaviour.imports_per_step_difference,
    measured_behaviour.context_lifespan_difference,
    measured_behaviour.interpreter_lifespan_difference
from marts.measured_behaviour
where measured_behaviour.plan_digest = $plan_digest
    and measured_behaviour.model = 'sft'
order by variant, base, visibility, header, bucket, condition
