-- What chance does to a model: its tokens on persistent minus on stateless, for two training seeds of one contract
with contrasted_instances as (
    select
        variant, base, visibility, header, bucket, measured_on, train_contract, training_seed, instance_id,
        avg(total_tokens) filter (runtime_contract = 'persistent')
        - avg(total_tokens) filter (runtime_contract = 'stateless') as contrast
    from marts.episode_metrics
    where plan_digest = $plan_digest and model = 'sft' and is_counted
    group by all
    having contrast is not null
)

select
    variant, base, visibility, header, bucket, measured_on, train_contract,
    contrasted_instances.training_seed as seed_a,
    others.training_seed as seed_b,
    count(*) as pair_count,
    avg(contrasted_instances.contrast) as contrast_of_seed_a,
    avg(others.contrast) as contrast_of_seed_b,
    avg(contrasted_instances.contrast - others.contrast) as contrast_difference,
    stddev_samp(contrasted_instances.contrast - others.contrast) / sqrt(count(*)) as standard_error
from contrasted_instances
inner join contrasted_instances as others
    using (variant, base, visibility, header, bucket, measured_on, train_contract, instance_id)
where contrasted_instances.training_seed < others.training_seed
group by all
order by variant, base, visibility, header, bucket, train_contract, seed_a, seed_b
