-- statistics with a p-value, confidence or effect size out of range, an interval upside down, or fewer pairs than zero
select
    statistic_id, analysis, metric, p_value, low, high
from main.statistics
where statistics.p_value not between 0 and 1
or statistics.p_holm not between 0 and 1
or statistics.p_holm < statistics.p_value
or statistics.confidence not between 0 and 1
or statistics.effect_size not between -1 and 1
or statistics.low > statistics.high
or isnan(statistics.high)
or statistics.pair_count < 0
or statistics.nonzero_count > statistics.pair_count
order by statistic_id
