-- one row per comparison of two cells: every paired statistic on scores, ours beside Qwen3-8B; Tables 7 and 8 read this
select
    ours.plan_digest,
    columns(['variant', 'base', 'visibility', 'header', 'bucket']),
    ours.comparison_group,
    ours.train_a,
    ours.runtime_a,
    coalesce(ours.train_b, 'base') as train_b,
    ours.runtime_b,
    evaluated_buckets.measured_on,
    evaluated_buckets.published_split,
    columns(['pair_count', 'nonzero_count']),
    100 * ours.mean_a as mean_a_pct,
    100 * ours.mean_b as mean_b_pct,
    100 * ours.difference as difference_points,
    100 * ours.difference_low as difference_low_points,
    100 * ours.difference_high as difference_high_points,
    ours.p_value,
    ours.p_holm,
    ours.significance,
    columns(['effect_size', 'effect_size_authors']),
    columns(['equivalence_p_value', 'equivalence_p_holm', 'equivalence_verdict']),
    100 * ours.smallest_detectable as smallest_detectable_points,
    columns(['solved_p_value', 'solved_p_holm', 'missing_name_p_value', 'missing_name_p_holm']),
    columns(['token_ratio', 'token_ratio_low', 'token_ratio_high']),
    ours.note,
    theirs.split as qwen3_8b_split,
    theirs.mean_a_pct as qwen3_8b_mean_a_pct,
    theirs.mean_b_pct as qwen3_8b_mean_b_pct,
    theirs.difference_points as qwen3_8b_difference_points,
    theirs.significance as qwen3_8b_significance,
    if(has_published_model, 100 * ours.mean_a - theirs.mean_a_pct, null) as mean_a_pct_difference,
    if(has_published_model, 100 * ours.mean_b - theirs.mean_b_pct, null) as mean_b_pct_difference,
    if(has_published_model, 100 * ours.difference - theirs.difference_points, null) as difference_points_difference
from staging.paired_comparisons as ours
inner join marts.evaluated_buckets using (plan_digest, variant, base, visibility, header, bucket)
left join staging.published_comparisons as theirs
    on evaluated_buckets.published_split = theirs.split
    and ours.comparison_group = theirs.comparison_group
    and ours.train_a = theirs.train_a
    and ours.runtime_a = theirs.runtime_a
    and coalesce(ours.train_b, 'base') = theirs.train_b
    and ours.runtime_b = theirs.runtime_b
    and evaluated_buckets.is_as_published
order by plan_digest, variant, base, visibility, header, bucket, comparison_group desc, train_a, runtime_a
