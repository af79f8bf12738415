-- one row per comparison of two cells: every paired statistic on scores, ours beside Qwen3-8B; Tables 7 and 8 read this
select
    paired_comparisons.plan_digest,
    columns(['variant', 'base', 'visibility', 'header', 'bucket']),
    paired_comparisons.comparison_group,
    paired_comparisons.train_a,
    paired_comparisons.runtime_a,
    coalesce(paired_comparisons.train_b, 'base') as train_b,
    paired_comparisons.runtime_b,
    evaluated_buckets.measured_on,
    evaluated_buckets.published_split,
    columns(['pair_count', 'nonzero_count']),
    100 * paired_comparisons.mean_a as mean_a_pct,
    100 * paired_comparisons.mean_b as mean_b_pct,
    100 * paired_comparisons.difference as difference_points,
    100 * paired_comparisons.difference_low as difference_low_points,
    100 * paired_comparisons.difference_high as difference_high_points,
    paired_comparisons.p_value,
    paired_comparisons.p_holm,
    paired_comparisons.significance,
    columns(['effect_size', 'effect_size_authors']),
    columns(['equivalence_p_value', 'equivalence_p_holm', 'equivalence_verdict']),
    100 * paired_comparisons.smallest_detectable as smallest_detectable_points,
    columns(['solved_p_value', 'solved_p_holm', 'missing_name_p_value', 'missing_name_p_holm']),
    columns(['token_ratio', 'token_ratio_low', 'token_ratio_high']),
    paired_comparisons.note,
    published_comparisons.split as qwen3_8b_split,
    published_comparisons.mean_a_pct as qwen3_8b_mean_a_pct,
    published_comparisons.mean_b_pct as qwen3_8b_mean_b_pct,
    published_comparisons.difference_points as qwen3_8b_difference_points,
    published_comparisons.significance as qwen3_8b_significance,
    if(has_published_model, 100 * paired_comparisons.mean_a - published_comparisons.mean_a_pct, null)
        as mean_a_pct_difference,
    if(has_published_model, 100 * paired_comparisons.mean_b - published_comparisons.mean_b_pct, null)
        as mean_b_pct_difference,
    if(has_published_model, 100 * paired_comparisons.difference - published_comparisons.difference_points, null)
        as difference_points_difference
from staging.paired_comparisons
inner join marts.evaluated_buckets using (plan_digest, variant, base, visibility, header, bucket)
left join staging.published_comparisons
    on evaluated_buckets.published_split = published_comparisons.split
    and paired_comparisons.comparison_group = published_comparisons.comparison_group
    and paired_comparisons.train_a = published_comparisons.train_a
    and paired_comparisons.runtime_a = published_comparisons.runtime_a
    and coalesce(paired_comparisons.train_b, 'base') = published_comparisons.train_b
    and paired_comparisons.runtime_b = published_comparisons.runtime_b
    and evaluated_buckets.is_as_published
order by plan_digest, variant, base, visibility, header, bucket, comparison_group desc, train_a, runtime_a
