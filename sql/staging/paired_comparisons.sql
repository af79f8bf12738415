-- one row per comparison of two cells: every paired statistic on scores side by side (arXiv 2603.01209, Tables 7 and 8)
with grouped_statistics as (
    select
        columns(['plan_digest', 'variant', 'base', 'visibility', 'header', 'bucket', 'comparison_group']),
        columns(['train_a', 'runtime_a', 'train_b', 'runtime_b']),
        max(statistics) filter (analysis = 'wilcoxon' and metric = 'score') as scores,
        max(statistics) filter (
            analysis = 'difference' and metric = 'score' and interval_kind = 'percentile'
        ) as differences,
        max(statistics) filter (analysis = 'equivalence' and metric = 'score') as equivalence,
        max(statistics) filter (analysis = 'power' and metric = 'score') as power,
        max(statistics) filter (analysis = 'mcnemar' and metric = 'is_solved') as solved,
        max(statistics) filter (analysis = 'mcnemar' and metric = 'has_missing_name') as missing_names,
        max(statistics) filter (
            analysis = 'ratio' and metric = 'total_tokens' and interval_kind = 'percentile'
        ) as ratios
    from main.statistics
    group by all
)

select
    grouped_statistics.* exclude (scores, differences, equivalence, power, solved, missing_names, ratios),
    scores.pair_count,
    scores.nonzero_count,
    scores.mean_a,
    scores.mean_b,
    scores.estimate as difference,
    differences.low as difference_low,
    differences.high as difference_high,
    scores.statistic as wilcoxon_statistic,
    scores.p_value,
    scores.p_holm,
    scores.effect_size,
    scores.effect_size_authors,
    scores.note,
    equivalence.p_value as equivalence_p_value,
    equivalence.p_holm as equivalence_p_holm,
    equivalence.verdict as equivalence_verdict,
    power.estimate as smallest_detectable,
    solved.p_value as solved_p_value,
    solved.p_holm as solved_p_holm,
    missing_names.p_value as missing_name_p_value,
    missing_names.p_holm as missing_name_p_holm,
    ratios.estimate as token_ratio,
    ratios.low as token_ratio_low,
    ratios.high as token_ratio_high,
    case
        when scores.p_value is null then 'no test'
        when scores.p_value < 0.001 then '***'
        when scores.p_value < 0.01 then '**'
        when scores.p_value < 0.05 then '*'
        else 'ns'
    end as significance
from grouped_statistics
where scores.pair_count is not null
order by
    plan_digest, variant, base, visibility, header, bucket, comparison_group, train_a, runtime_a, train_b, runtime_b
