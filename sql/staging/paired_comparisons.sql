-- one row per comparison of two cells: every paired statistic on scores side by side (arXiv 2603.01209, Tables 7 and 8)
with grouped_statistics as (
    select
        statistics.plan_digest,
        statistics.variant,
        statistics.base,
        statistics.visibility,
        statistics.header,
        statistics.bucket,
        statistics.comparison_group,
        statistics.train_a,
        statistics.runtime_a,
        statistics.train_b,
        statistics.runtime_b,
        max(statistics.pair_count) filter (analysis = 'wilcoxon' and metric = 'score') as pair_count,
        max(statistics.nonzero_count) filter (analysis = 'wilcoxon' and metric = 'score') as nonzero_count,
        max(statistics.mean_a) filter (analysis = 'wilcoxon' and metric = 'score') as mean_a,
        max(statistics.mean_b) filter (analysis = 'wilcoxon' and metric = 'score') as mean_b,
        max(statistics.estimate) filter (analysis = 'wilcoxon' and metric = 'score') as difference,
        max(statistics.low) filter (
            analysis = 'difference' and metric = 'score' and interval_kind = 'percentile'
        ) as difference_low,
        max(statistics.high) filter (
            analysis = 'difference' and metric = 'score' and interval_kind = 'percentile'
        ) as difference_high,
        max(statistics.statistic) filter (analysis = 'wilcoxon' and metric = 'score') as wilcoxon_statistic,
        max(statistics.p_value) filter (analysis = 'wilcoxon' and metric = 'score') as p_value,
        max(statistics.p_holm) filter (analysis = 'wilcoxon' and metric = 'score') as p_holm,
        max(statistics.effect_size) filter (analysis = 'wilcoxon' and metric = 'score') as effect_size,
        max(statistics.effect_size_authors) filter (
            analysis = 'wilcoxon' and metric = 'score'
        ) as effect_size_authors,
        max(statistics.note) filter (analysis = 'wilcoxon' and metric = 'score') as note,
        max(statistics.p_value) filter (analysis = 'equivalence' and metric = 'score') as equivalence_p_value,
        max(statistics.p_holm) filter (analysis = 'equivalence' and metric = 'score') as equivalence_p_holm,
        max(statistics.verdict) filter (analysis = 'equivalence' and metric = 'score') as equivalence_verdict,
        max(statistics.estimate) filter (analysis = 'power' and metric = 'score') as smallest_detectable,
        max(statistics.p_value) filter (analysis = 'mcnemar' and metric = 'is_solved') as solved_p_value,
        max(statistics.p_holm) filter (analysis = 'mcnemar' and metric = 'is_solved') as solved_p_holm,
        max(statistics.p_value) filter (
            analysis = 'mcnemar' and metric = 'has_missing_name'
        ) as missing_name_p_value,
        max(statistics.p_holm) filter (analysis = 'mcnemar' and metric = 'has_missing_name') as missing_name_p_holm,
        max(statistics.estimate) filter (
            analysis = 'ratio' and metric = 'total_tokens' and interval_kind = 'percentile'
        ) as token_ratio,
        max(statistics.low) filter (
            analysis = 'ratio' and metric = 'total_tokens' and interval_kind = 'percentile'
        ) as token_ratio_low,
        max(statistics.high) filter (
            analysis = 'ratio' and metric = 'total_tokens' and interval_kind = 'percentile'
        ) as token_ratio_high
    from main.statistics
    where statistics.analysis in ('wilcoxon', 'difference', 'ratio', 'equivalence', 'power', 'mcnemar')
    group by all
),

final as (
    select
        grouped_statistics.*,
        case
            when grouped_statistics.p_value is null then 'no test'
            when grouped_statistics.p_value < 0.001 then '***'
            when grouped_statistics.p_value < 0.01 then '**'
            when grouped_statistics.p_value < 0.05 then '*'
            else 'ns'
        end as significance
    from grouped_statistics
    where grouped_statistics.pair_count is not null
)

select * from final
order by
    plan_digest, variant, base, visibility, header, bucket, comparison_group, train_a, runtime_a, train_b, runtime_b
