-- Pairs of two trained cells on one instance, seed and replicate: how many of both episodes ended normally.
with ended_episodes as (
    select
        variant, base, visibility, header, bucket, instance_id, replicate, condition,
        staging.model_seed(training_seed) as model_seed
    from marts.episode_metrics
    where plan_digest = $plan_digest and purpose = 'evaluation' and model = 'sft' and is_counted
        and finish_category = 'normal'
)

select
    variant, base, visibility, header, bucket,
    ours.condition as a,
    others.condition as b,
    count(*) as ended_pair_count
from ended_episodes as ours
inner join ended_episodes as others
    using (variant, base, visibility, header, bucket, instance_id, replicate, model_seed)
where ours.condition < others.condition
group by all
order by all
