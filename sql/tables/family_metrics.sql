-- What the task family counts itself: the mean of each of its numbers at the end of an episode, per evaluated cell
with counted_metrics as (
    select
        family, variant, base, visibility, header, bucket, model, condition, episode_id, metrics_json,
        unnest(json_keys(metrics_json)) as metric
    from marts.episode_metrics
    where plan_digest = $plan_digest and purpose = 'evaluation' and is_counted and metrics_json is not null
)

select
    family, variant, base, visibility, header, bucket, model, condition, metric,
    count(distinct episode_id) as episode_count,
    avg(try_cast(metrics_json ->> ('$."' || metric || '"') as double)) as mean
from counted_metrics
group by all
order by all
