-- Families of Holm's correction: which tests each one counts, how many could not be tested, and what was significant
select
    variant, base, visibility, header, bucket, measured_on, analysis,
    if(analysis in ('interaction_wilcoxon', 'replicates'), 'all metrics', metric) as metric,
    case
        when analysis = 'interaction_wilcoxon' then 'the metrics of the interaction'
        when analysis = 'replicates' then 'trained cells x pairs of replicates x metrics'
        else 'the comparisons of two cells that the plan plays'
    end as family,
    count(*) as test_count,
    count(*) filter (p_value is null) as untestable_count,
    count(*) filter (verdict = 'identical') as identical_count,
    count(*) filter (p_value < 0.05) as significant_uncorrected_count,
    count(*) filter (p_holm < 0.05) as significant_count
from main.statistics
inner join marts.evaluated_buckets using (plan_digest, variant, base, visibility, header, bucket)
where plan_digest = $plan_digest
    and (analysis in ('wilcoxon', 'mcnemar', 'interaction_wilcoxon', 'replicates') or analysis like 'equivalence%')
group by all
order by variant, base, visibility, header, bucket, analysis, metric
