-- one row per cell with the ends of its means' bootstrap percentile intervals
select
    statistics.plan_digest,
    columns(['variant', 'base', 'visibility', 'header', 'bucket']),
    statistics.train_a as train_contract,
    statistics.runtime_a as runtime_contract,
    max(statistics.low) filter (statistics.metric = 'score') as score_low,
    max(statistics.high) filter (statistics.metric = 'score') as score_high,
    max(statistics.low) filter (statistics.metric = 'total_tokens') as total_tokens_low,
    max(statistics.high) filter (statistics.metric = 'total_tokens') as total_tokens_high
from main.statistics
where statistics.analysis = 'mean'
    and statistics.interval_kind = 'percentile'
group by all
order by plan_digest, variant, base, visibility, header, bucket, train_contract, runtime_contract
