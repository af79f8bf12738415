-- Table 8: paired comparisons of scores on the bucket that stands for Hard; ours beside Qwen3-8B
with named_buckets as (
    select distinct
        episode_metrics.plan_digest,
        episode_metrics.bucket,
        episode_metrics.scale,
        episode_metrics.measured_on
    from marts.episode_metrics
    where episode_metrics.plan_digest = $plan_digest
        and episode_metrics.purpose = 'evaluation'
        and episode_metrics.published_split = 'hard'
),

final as (
    select
        paired_comparisons.variant,
        paired_comparisons.base,
        paired_comparisons.visibility,
        paired_comparisons.header,
        paired_comparisons.bucket,
        paired_comparisons.comparison_group,
        paired_comparisons.train_a,
        paired_comparisons.runtime_a,
        coalesce(paired_comparisons.train_b, 'base') as train_b,
        paired_comparisons.runtime_b,
        named_buckets.measured_on,
        paired_comparisons.pair_count,
        paired_comparisons.nonzero_count,
        100 * paired_comparisons.mean_a as mean_a_pct,
        100 * paired_comparisons.mean_b as mean_b_pct,
        100 * paired_comparisons.difference as difference_points,
        100 * paired_comparisons.difference_low as difference_low_points,
        100 * paired_comparisons.difference_high as difference_high_points,
        paired_comparisons.p_value,
        paired_comparisons.p_holm,
        paired_comparisons.significance,
        paired_comparisons.effect_size,
        paired_comparisons.effect_size_authors,
        paired_comparisons.equivalence_p_value,
        paired_comparisons.equivalence_verdict,
        100 * paired_comparisons.smallest_detectable as smallest_detectable_points,
        paired_comparisons.solved_p_value,
        paired_comparisons.missing_name_p_value,
        paired_comparisons.token_ratio,
        paired_comparisons.token_ratio_low,
        paired_comparisons.token_ratio_high,
        paired_comparisons.note,
        table8.mean_a as qwen3_8b_hard_mean_a_pct,
        table8.mean_b as qwen3_8b_hard_mean_b_pct,
        coalesce(table8.delta_published, table8.delta_recomputed) as qwen3_8b_hard_difference_points,
        table8.significance as qwen3_8b_hard_significance,
        case when named_buckets.scale = 'paper' then
            100 * paired_comparisons.difference - coalesce(table8.delta_published, table8.delta_recomputed)
        end as difference_points_difference
    from staging.paired_comparisons
    inner join named_buckets
        on paired_comparisons.plan_digest = named_buckets.plan_digest
        and paired_comparisons.bucket = named_buckets.bucket
    left join published.table8
        on paired_comparisons.comparison_group = table8.comparison_group
        and paired_comparisons.train_a = table8.train_a
        and paired_comparisons.runtime_a = table8.runtime_a
        and coalesce(paired_comparisons.train_b, 'base') = table8.train_b
        and paired_comparisons.runtime_b = table8.runtime_b
        and paired_comparisons.variant = 'main'
        and paired_comparisons.visibility = 'declared'
        and paired_comparisons.header = 'names'
)

select * from final
order by variant, base, visibility, header, bucket, comparison_group desc, train_a, runtime_a
