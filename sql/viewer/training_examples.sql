-- A plan's teacher traces as training data: counts by verdict, with the first episodes of each.
select
    training_examples.variant, training_examples.contract, training_examples.status, training_examples.reason,
    count(*) as episode_count,
    cast(sum(training_examples.token_count) as bigint) as token_count,
    any_value(training_examples.threshold) as threshold,
    min(training_examples.measured) as measured_low,
    max(training_examples.measured) as measured_high,
    list(training_examples.episode_id order by training_examples.episode_id)[:12] as episode_ids
from training_examples
inner join marts.episode_metrics on training_examples.episode_id = episode_metrics.episode_id
where episode_metrics.plan_digest = $plan_digest
group by all
order by training_examples.variant, training_examples.contract, training_examples.status, training_examples.reason
