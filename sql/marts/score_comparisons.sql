-- one row per comparison of two cells: every paired statistic on scores, ours beside Qwen3-8B; Tables 7 and 8 read this
with grouped_statistics as (
    select
        plan_digest, variant, base, visibility, header, bucket, comparison_group,
        train_a, runtime_a, train_b, runtime_b,
        max(statistics) filter (analysis = 'wilcoxon' and metric = 'score') as scores,
        max(statistics) filter (analysis = 'difference' and metric = 'score' and interval_kind = 'percentile')
            as differences,
        max(statistics) filter (analysis = 'equivalence' and metric = 'score') as equivalence,
        max(statistics) filter (analysis = 'power' and metric = 'score') as power,
        max(statistics) filter (analysis = 'mcnemar' and metric = 'is_solved') as solved,
        max(statistics) filter (analysis = 'mcnemar' and metric = 'has_missing_name') as missing_names,
        max(statistics) filter (analysis = 'ratio' and metric = 'total_tokens' and interval_kind = 'percentile')
            as ratios
    from main.statistics
    group by all
)

select
    plan_digest, variant, base, visibility, header, bucket, ours.comparison_group, ours.train_a, ours.runtime_a,
    coalesce(ours.train_b, 'base') as train_b,
    ours.runtime_b, measured_on, published_split, scores.pair_count, scores.nonzero_count,
    100 * scores.mean_a as mean_a_pct,
    100 * scores.mean_b as mean_b_pct,
    100 * scores.estimate as difference_points,
    100 * differences.low as difference_low_points,
    100 * differences.high as difference_high_points,
    scores.p_value, scores.p_holm,
    case
        when no_verdict_reason is not null then 'no verdict'
        when scores.p_value is null then 'no test'
        when scores.p_value < 0.001 then '***'
        when scores.p_value < 0.01 then '**'
        when scores.p_value < 0.05 then '*'
        else 'ns'
    end as significance,
    scores.effect_size, scores.effect_size_authors,
    equivalence.p_value as equivalence_p_value,
    equivalence.p_holm as equivalence_p_holm,
    if(no_pair_verdict_reason is null, equivalence.verdict, null) as equivalence_verdict,
    100 * power.estimate as smallest_detectable_points,
    solved.p_value as solved_p_value,
    solved.p_holm as solved_p_holm,
    missing_names.p_value as missing_name_p_value,
    missing_names.p_holm as missing_name_p_holm,
    ratios.estimate as token_ratio,
    ratios.low as token_ratio_low,
    ratios.high as token_ratio_high,
    coalesce(no_verdict_reason, scores.note) as note,
    theirs.split as qwen3_8b_split,
    theirs.mean_a_pct as qwen3_8b_mean_a_pct,
    theirs.mean_b_pct as qwen3_8b_mean_b_pct,
    theirs.difference_points as qwen3_8b_difference_points,
    theirs.significance as qwen3_8b_significance,
    staging.minus_published(100 * scores.mean_a, theirs.mean_a_pct, has_published_model) as mean_a_pct_difference,
    staging.minus_published(100 * scores.mean_b, theirs.mean_b_pct, has_published_model) as mean_b_pct_difference,
    staging.minus_published(100 * scores.estimate, theirs.difference_points, has_published_model)
        as difference_points_difference
from grouped_statistics as ours
inner join marts.evaluated_buckets using (plan_digest, variant, base, visibility, header, bucket)
inner join marts.judged_settings using (plan_digest, variant, base, visibility, header, bucket)
left join staging.published_comparisons as theirs
    on (published_split, ours.comparison_group, ours.train_a, ours.runtime_a, coalesce(ours.train_b, 'base'))
    = (theirs.split, theirs.comparison_group, theirs.train_a, theirs.runtime_a, theirs.train_b)
    and ours.runtime_b = theirs.runtime_b
    and is_as_published
where scores.pair_count is not null
order by plan_digest, variant, base, visibility, header, bucket, comparison_group desc, train_a, runtime_a
