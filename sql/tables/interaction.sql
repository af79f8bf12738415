-- The train x runtime interaction, (P->P - P->S) - (S->P - S->S) and as a ratio of ratios; ours beside Qwen3-8B
with crossed_cells as (
    select
        split, metric,
        max(mean) filter (train_semantics = 'persistent' and runtime_semantics = 'persistent') as pp,
        max(mean) filter (train_semantics = 'persistent' and runtime_semantics = 'stateless') as ps,
        max(mean) filter (train_semantics = 'stateless' and runtime_semantics = 'persistent') as sp,
        max(mean) filter (train_semantics = 'stateless' and runtime_semantics = 'stateless') as ss
    from (
        unpivot (
            select
                split, train_semantics, runtime_semantics, imports_per_step,
                score_pct / 100 as score,
                cast(mean_total_tokens as double) as total_tokens,
                missing_names_per_episode as missing_name_count
            from staging.published_cells
            where model = 'sft'
        )
        on score, total_tokens, missing_name_count, imports_per_step
        into name metric value mean
    )
    group by all
),

published_interactions as (
    select split, metric, 'interaction' as analysis, (pp - ps) - (sp - ss) as qwen3_8b_estimate from crossed_cells
    union all by name
    select split, metric, 'interaction_ratio' as analysis, (pp / ps) / (sp / ss) as qwen3_8b_estimate from crossed_cells
)

select
    variant, base, visibility, header, bucket, measured_on, statistics.analysis, statistics.metric, interval_kind,
    pair_count, estimate, low, high,
    if(reason is null, verdict, null) as verdict,
    p_value, p_holm, effect_size,
    coalesce(reason, note) as note,
    published_split as qwen3_8b_split,
    qwen3_8b_estimate,
    staging.minus_published(estimate, qwen3_8b_estimate, has_published_model) as estimate_difference
from main.statistics
inner join marts.evaluated_buckets using (plan_digest, variant, base, visibility, header, bucket)
inner join marts.judged_settings using (plan_digest, variant, base, visibility, header, bucket)
left join published_interactions
    on (published_split, statistics.analysis, statistics.metric)
    = (split, published_interactions.analysis, published_interactions.metric)
    and is_as_published
cross join lateral (
    select if(statistics.metric in (from staging.endless_metrics), no_verdict_reason, no_pair_verdict_reason) as reason
) as reasons
where plan_digest = $plan_digest and comparison_group = 'train_x_runtime'
order by variant, base, visibility, header, bucket, analysis, metric, interval_kind desc
