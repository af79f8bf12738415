-- statistics with a p-value, confidence or effect size out of range, an interval upside down, or fewer pairs than zero
select
    statistic_id, analysis, metric, p_value, low, high
from main.statistics
where p_value not between 0 and 1
or p_holm not between 0 and 1
or p_holm < p_value
or confidence not between 0 and 1
or effect_size not between -1 and 1
or low > high
or isnan(high)
or pair_count < 0
or nonzero_count > pair_count
order by statistic_id
