-- Families of Holm's correction: which tests each one counts, how many could not be tested, and what was significant
with counted_tests as (
    select
        statistics.plan_digest,
        variant, base, visibility, header, bucket,
        statistics.analysis,
        if(statistics.analysis in ('interaction_wilcoxon', 'replicates'), 'all metrics', statistics.metric) as metric,
        count(*) as test_count,
        count(*) filter (statistics.p_value is null) as untestable_count,
        count(*) filter (statistics.p_value < 0.05) as significant_uncorrected_count,
        count(*) filter (statistics.p_holm < 0.05) as significant_count,
        count(*) filter (statistics.verdict = 'identical') as identical_count
    from main.statistics
    where statistics.plan_digest = $plan_digest
        and (
            statistics.analysis in ('wilcoxon', 'mcnemar', 'interaction_wilcoxon', 'replicates')
            or statistics.analysis like 'equivalence%'
        )
    group by all
)

select
    variant, base, visibility, header, bucket,
    evaluated_buckets.measured_on, counted_tests.analysis, counted_tests.metric,
    case
        when counted_tests.analysis = 'interaction_wilcoxon' then 'the metrics of the interaction'
        when counted_tests.analysis = 'replicates' then 'trained cells x pairs of replicates x metrics'
        else 'the comparisons of two cells that the plan plays'
    end as family,
    test_count, untestable_count, identical_count, significant_uncorrected_count,
    counted_tests.significant_count
from counted_tests
inner join marts.evaluated_buckets using (plan_digest, variant, base, visibility, header, bucket)
order by variant, base, visibility, header, bucket, analysis, metric
