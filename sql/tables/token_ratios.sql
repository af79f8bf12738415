-- Token cost of every other trained cell over P->P, with paired intervals; ours beside Qwen3-8B
with published_ratios as (
    select
        others.split,
        others.train_semantics,
        others.runtime_semantics,
        others.mean_total_tokens / aligned.mean_total_tokens as token_ratio
    from published.table2 as others
    inner join published.table2 as aligned
        on others.split = aligned.split
        and aligned.train_semantics = 'persistent'
        and aligned.runtime_semantics = 'persistent'
    where others.model = 'sft'
)

select
    columns(['variant', 'base', 'visibility', 'header', 'bucket']),
    evaluated_buckets.measured_on,
    statistics.train_a,
    statistics.runtime_a,
    statistics.metric,
    statistics.interval_kind,
    statistics.pair_count,
    statistics.mean_a,
    statistics.mean_b as mean_aligned,
    statistics.estimate as ratio,
    statistics.low as ratio_low,
    statistics.high as ratio_high,
    statistics.note,
    evaluated_buckets.published_split as qwen3_8b_split,
    case when statistics.metric = 'total_tokens' then published_ratios.token_ratio end as qwen3_8b_ratio,
    if(has_published_model, statistics.estimate - qwen3_8b_ratio, null) as ratio_difference
from main.statistics
inner join marts.evaluated_buckets using (plan_digest, variant, base, visibility, header, bucket)
left join published_ratios
    on evaluated_buckets.published_split = published_ratios.split
    and statistics.train_a = published_ratios.train_semantics
    and statistics.runtime_a = published_ratios.runtime_semantics
    and evaluated_buckets.is_as_published
where statistics.plan_digest = $plan_digest
    and statistics.analysis = 'ratio'
    and statistics.comparison_group = 'against_aligned'
    and statistics.interval_kind in ('percentile', 't over seeds')
order by variant, base, visibility, header, bucket, train_a, runtime_a, metric desc, interval_kind
