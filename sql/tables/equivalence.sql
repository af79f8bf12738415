-- Equal scores within 2, 5 and 10 points: two one-sided tests per comparison, decided by the p-value that Holm corrects
select
    variant, base, visibility, header, bucket, measured_on, comparison_group, train_a, runtime_a,
    coalesce(train_b, 'base') as train_b,
    runtime_b,
    max(pair_count) as pair_count,
    100 * max(estimate) as difference_points,
    100 * max(low) as difference_low_points,
    100 * max(high) as difference_high_points,
    max(p_holm) filter (analysis = 'equivalence') as within_5_points_p_holm,
    max(verdict) filter (analysis = 'equivalence' and no_pair_verdict_reason is null) as within_5_points,
    max(verdict) filter (analysis = 'equivalence_within_2_points' and no_pair_verdict_reason is null)
        as within_2_points,
    max(verdict) filter (analysis = 'equivalence_within_10_points' and no_pair_verdict_reason is null)
        as within_10_points,
    max(coalesce(no_pair_verdict_reason, note)) as note
from main.statistics
inner join marts.evaluated_buckets using (plan_digest, variant, base, visibility, header, bucket)
inner join marts.judged_settings using (plan_digest, variant, base, visibility, header, bucket)
where plan_digest = $plan_digest and analysis like 'equivalence%'
group by all
order by variant, base, visibility, header, bucket, comparison_group desc, train_a, runtime_a
