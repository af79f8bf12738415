-- CaveAgent's suites: the mean of each arm, then persistent code against each other arm, paired by case, with intervals
select
    statistics.bucket as suite,
    statistics.header as instruction,
    statistics.base as model_name,
    statistics.metric,
    concat_ws(' - ', statistics.runtime_a, statistics.runtime_b) as arm,
    pair_count as case_count,
    estimate, low, high, p_value, p_holm, note, method
from main.statistics
where statistics.plan_digest = $plan_digest
    and statistics.variant = 'cave'
order by suite, instruction, model_name, metric, statistics.runtime_b nulls first, arm
