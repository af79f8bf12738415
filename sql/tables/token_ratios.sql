-- Token cost of every other trained cell over P->P, with paired intervals; ours beside Qwen3-8B
with published_ratios as (
    select
        split, train_semantics, runtime_semantics,
        mean_total_tokens / max(mean_total_tokens) filter (
            train_semantics = 'persistent' and runtime_semantics = 'persistent'
        ) over (partition by split) as token_ratio
    from staging.published_cells
    where model = 'sft'
)

select
    variant, base, visibility, header, bucket, measured_on, train_a, runtime_a, metric, interval_kind, pair_count,
    mean_a,
    mean_b as mean_aligned,
    estimate as ratio,
    low as ratio_low,
    high as ratio_high,
    note,
    published_split as qwen3_8b_split,
    if(metric = 'total_tokens', token_ratio, null) as qwen3_8b_ratio,
    staging.minus_published(estimate, qwen3_8b_ratio, has_published_model) as ratio_difference
from main.statistics
inner join marts.evaluated_buckets using (plan_digest, variant, base, visibility, header, bucket)
left join published_ratios
    on (published_split, train_a, runtime_a) = (split, train_semantics, runtime_semantics) and is_as_published
where statistics.plan_digest = $plan_digest
    and statistics.analysis = 'ratio'
    and statistics.comparison_group = 'against_aligned'
    and staging.is_main_interval(statistics.interval_kind)
order by variant, base, visibility, header, bucket, train_a, runtime_a, metric desc, interval_kind
