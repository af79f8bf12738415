-- CaveAgent's suites: the mean of each arm, then persistent code against each other arm, paired by case, with intervals
select
    bucket as suite,
    header as instruction,
    base as model_name,
    metric,
    concat_ws(' - ', runtime_a, runtime_b) as arm,
    pair_count as case_count,
    estimate, low, high, p_value, p_holm, note, method
from main.statistics
where plan_digest = $plan_digest
    and variant = 'cave'
order by suite, instruction, model_name, metric, runtime_b nulls first, arm
