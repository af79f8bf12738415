-- CaveAgent's suites: persistent code against each other arm, paired by case, with intervals and tests
select
    statistics.bucket as suite,
    statistics.header as instruction,
    statistics.base as model_name,
    statistics.metric,
    statistics.runtime_a as arm,
    statistics.runtime_b as other_arm,
    statistics.pair_count,
    statistics.mean_a,
    statistics.mean_b,
    statistics.estimate,
    statistics.low,
    statistics.high,
    statistics.p_value,
    statistics.p_holm,
    statistics.method,
    statistics.note
from main.statistics
where statistics.plan_digest = $plan_digest
    and statistics.variant = 'cave'
order by suite, instruction, model_name, metric, other_arm
