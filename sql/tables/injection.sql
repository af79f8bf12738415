-- What injected objects change: the contrasts of the study of four contracts, paired by instance and seed
select
    variant, base, visibility, header, bucket,
    evaluated_buckets.measured_on,
    train_a, runtime_a, train_b, runtime_b,
    analysis, metric,
    statistics.interval_kind,
    pair_count, mean_a, mean_b, estimate, low, high, note
from main.statistics
inner join marts.evaluated_buckets using (plan_digest, variant, base, visibility, header, bucket)
where statistics.plan_digest = $plan_digest
    and statistics.comparison_group = 'injection'
    and statistics.interval_kind in ('percentile', 't over seeds')
    and (
        (statistics.analysis = 'ratio' and statistics.metric = 'total_tokens')
        or (statistics.analysis = 'difference' and statistics.metric in ('score', 'has_missing_name'))
    )
order by
    variant, base desc, visibility desc, header, bucket,
    train_a, runtime_a, train_b, runtime_b, analysis desc, metric, interval_kind
