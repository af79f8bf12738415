-- CaveAgent, Table 1: tau2-bench, success in percent; published means of three runs, ours scored as Inspect adapted it
select
    domain,
    model as published_model,
    fc_avg as published_function_calling_pct,
    cave_avg as published_caveagent_pct,
    cave_avg - fc_avg as published_gain,
    arm, instruction, played_by, replicate_count, passed_pct,
    right_state_pct as database_pct,
    judged_pct,
    reference_calls_pct as strict_calls_pct,
    required_calls_pct as lenient_calls_pct
from published.cave_table_1
left join staging.measured_cave_arms
    on cave_table_1.domain = measured_cave_arms.tier
    and measured_cave_arms.suite = 'tau2'
    and measured_cave_arms.plan_digest = $plan_digest
order by domain, published_model, played_by, instruction, arm
