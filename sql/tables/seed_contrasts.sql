-- What chance does to a model: its tokens on persistent minus on stateless, for two training seeds of one contract
with contrasted_instances as (
    select
        episode_metrics.plan_digest,
        episode_metrics.variant,
        episode_metrics.base,
        episode_metrics.visibility,
        episode_metrics.header,
        episode_metrics.bucket,
        episode_metrics.measured_on,
        episode_metrics.train_contract,
        episode_metrics.training_seed,
        episode_metrics.instance_id,
        avg(episode_metrics.total_tokens) filter (episode_metrics.runtime_contract = 'persistent')
        - avg(episode_metrics.total_tokens) filter (episode_metrics.runtime_contract = 'stateless') as contrast
    from marts.episode_metrics
    where episode_metrics.plan_digest = $plan_digest
        and episode_metrics.purpose = 'evaluation'
        and episode_metrics.train_contract is not null
        and episode_metrics.is_counted
    group by all
),

paired_seeds as (
    select
        contrasted_instances.* exclude (plan_digest, training_seed, contrast),
        contrasted_instances.training_seed as seed_a,
        others.training_seed as seed_b,
        contrasted_instances.contrast as contrast_a,
        others.contrast as contrast_b,
        contrasted_instances.contrast - others.contrast as difference
    from contrasted_instances
    inner join contrasted_instances as others
        using (
            plan_digest, variant, base, visibility, header, bucket, measured_on, train_contract, instance_id
        )
    where contrasted_instances.training_seed < others.training_seed
        and contrasted_instances.contrast is not null
        and others.contrast is not null
),

final as (
    select
        paired_seeds.variant,
        paired_seeds.base,
        paired_seeds.visibility,
        paired_seeds.header,
        paired_seeds.bucket,
        paired_seeds.measured_on,
        paired_seeds.train_contract,
        paired_seeds.seed_a,
        paired_seeds.seed_b,
        count(*) as pair_count,
        avg(paired_seeds.contrast_a) as contrast_of_seed_a,
        avg(paired_seeds.contrast_b) as contrast_of_seed_b,
        avg(paired_seeds.difference) as contrast_difference,
        stddev_samp(paired_seeds.difference) / sqrt(count(*)) as standard_error
    from paired_seeds
    group by all
)

select * from final
order by variant, base, visibility, header, bucket, train_contract, seed_a, seed_b
