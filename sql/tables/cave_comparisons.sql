-- CaveAgent's suites: the mean of each arm, then persistent code against each other arm, paired by case, with intervals
select
    statistics.bucket as suite,
    statistics.header as instruction,
    statistics.base as model_name,
    statistics.metric,
    statistics.runtime_a as arm,
    statistics.runtime_b as other_arm,
    pair_count, mean_a, mean_b, estimate, low, high, p_value, p_holm, method, note
from main.statistics
where statistics.plan_digest = $plan_digest
    and statistics.variant = 'cave'
order by suite, instruction, model_name, metric, other_arm nulls first, arm
