-- CaveAgent, Table 1: tau2-bench, success in percent; published means of three runs, ours scored as Inspect adapted it
select
    cave_table1.domain,
    cave_table1.model as published_model,
    cave_table1.fc_avg as published_function_calling_pct,
    cave_table1.cave_avg as published_caveagent_pct,
    cave_table1.cave_avg - cave_table1.fc_avg as published_gain,
    measured_cave_arms.arm,
    measured_cave_arms.instruction,
    measured_cave_arms.played_by,
    measured_cave_arms.replicate_count,
    measured_cave_arms.passed_pct,
    measured_cave_arms.right_state_pct as database_pct,
    measured_cave_arms.judged_pct,
    measured_cave_arms.reference_calls_pct as strict_calls_pct,
    measured_cave_arms.required_calls_pct as lenient_calls_pct
from published.cave_table1
left join staging.measured_cave_arms
    on cave_table1.domain = measured_cave_arms.tier
    and measured_cave_arms.suite = 'tau2'
    and measured_cave_arms.plan_digest = $plan_digest
order by domain, published_model, played_by, instruction, arm
