-- one row per comparison of two cells: every paired statistic on scores side by side (arXiv 2603.01209, Tables 7 and 8)
with grouped_statistics as (
    select
        latest_statistics.plan_digest,
        latest_statistics.variant,
        latest_statistics.base,
        latest_statistics.visibility,
        latest_statistics.header,
        latest_statistics.bucket,
        latest_statistics.comparison_group,
        latest_statistics.train_a,
        latest_statistics.runtime_a,
        latest_statistics.train_b,
        latest_statistics.runtime_b,
        max(latest_statistics.pair_count) filter (analysis = 'wilcoxon' and metric = 'score') as pair_count,
        max(latest_statistics.nonzero_count) filter (analysis = 'wilcoxon' and metric = 'score') as nonzero_count,
        max(latest_statistics.mean_a) filter (analysis = 'wilcoxon' and metric = 'score') as mean_a,
        max(latest_statistics.mean_b) filter (analysis = 'wilcoxon' and metric = 'score') as mean_b,
        max(latest_statistics.estimate) filter (analysis = 'wilcoxon' and metric = 'score') as difference,
        max(latest_statistics.low) filter (
            analysis = 'difference' and metric = 'score' and method like 'bootstrap percentile%'
        ) as difference_low,
        max(latest_statistics.high) filter (
            analysis = 'difference' and metric = 'score' and method like 'bootstrap percentile%'
        ) as difference_high,
        max(latest_statistics.statistic) filter (analysis = 'wilcoxon' and metric = 'score') as wilcoxon_statistic,
        max(latest_statistics.p_value) filter (analysis = 'wilcoxon' and metric = 'score') as p_value,
        max(latest_statistics.p_holm) filter (analysis = 'wilcoxon' and metric = 'score') as p_holm,
        max(latest_statistics.effect_size) filter (analysis = 'wilcoxon' and metric = 'score') as effect_size,
        max(latest_statistics.effect_size_authors) filter (
            analysis = 'wilcoxon' and metric = 'score'
        ) as effect_size_authors,
        max(latest_statistics.note) filter (analysis = 'wilcoxon' and metric = 'score') as note,
        max(latest_statistics.p_value) filter (analysis = 'equivalence' and metric = 'score') as equivalence_p_value,
        max(latest_statistics.verdict) filter (analysis = 'equivalence' and metric = 'score') as equivalence_verdict,
        max(latest_statistics.estimate) filter (analysis = 'power' and metric = 'score') as smallest_detectable,
        max(latest_statistics.p_value) filter (analysis = 'mcnemar' and metric = 'is_solved') as solved_p_value,
        max(latest_statistics.p_value) filter (
            analysis = 'mcnemar' and metric = 'has_missing_name'
        ) as missing_name_p_value,
        max(latest_statistics.estimate) filter (
            analysis = 'ratio' and metric = 'total_tokens' and method like 'bootstrap percentile%'
        ) as token_ratio,
        max(latest_statistics.low) filter (
            analysis = 'ratio' and metric = 'total_tokens' and method like 'bootstrap percentile%'
        ) as token_ratio_low,
        max(latest_statistics.high) filter (
            analysis = 'ratio' and metric = 'total_tokens' and method like 'bootstrap percentile%'
        ) as token_ratio_high
    from staging.latest_statistics
    where latest_statistics.analysis in ('wilcoxon', 'difference', 'ratio', 'equivalence', 'power', 'mcnemar')
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
