-- Equal scores within 2, 5 and 10 points: two one-sided tests per comparison, decided by the p-value that Holm corrects
select
    variant, base, visibility, header, bucket,
    evaluated_buckets.measured_on,
    comparison_group, train_a, runtime_a,
    coalesce(statistics.train_b, 'base') as train_b,
    statistics.runtime_b,
    max(statistics.pair_count) as pair_count,
    100 * max(statistics.estimate) as difference_points,
    100 * max(statistics.low) as difference_low_points,
    100 * max(statistics.high) as difference_high_points,
    max(statistics.p_holm) filter (analysis = 'equivalence') as within_5_points_p_holm,
    max(statistics.verdict) filter (analysis = 'equivalence') as within_5_points,
    max(statistics.verdict) filter (analysis = 'equivalence_within_2_points') as within_2_points,
    max(statistics.verdict) filter (analysis = 'equivalence_within_10_points') as within_10_points,
    max(statistics.note) as note
from main.statistics
inner join marts.evaluated_buckets using (plan_digest, variant, base, visibility, header, bucket)
where statistics.plan_digest = $plan_digest
    and statistics.analysis like 'equivalence%'
group by all
order by variant, base, visibility, header, bucket, comparison_group desc, train_a, runtime_a
