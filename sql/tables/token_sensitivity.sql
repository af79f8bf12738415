-- Token cost over P->P of every other trained cell: of all pairs, and of those in which both episodes ended normally
with aligned_episodes as (
    select
        episode_metrics.*
    from marts.episode_metrics
    where episode_metrics.condition = 'P->P'
        and episode_metrics.purpose = 'evaluation'
        and episode_metrics.is_counted
),

paired_episodes as (
    select
        episode_metrics.variant,
        episode_metrics.base,
        episode_metrics.visibility,
        episode_metrics.header,
        episode_metrics.bucket,
        episode_metrics.measured_on,
        episode_metrics.condition,
        episode_metrics.total_tokens,
        aligned_episodes.total_tokens as aligned_tokens,
        episode_metrics.finish_category = 'normal' as is_finished,
        aligned_episodes.finish_category = 'normal' as is_aligned_finished,
        is_finished and is_aligned_finished as are_both_finished
    from marts.episode_metrics
    inner join aligned_episodes
        -- imported episodes have no training seed
        on (
            episode_metrics.plan_digest, episode_metrics.variant, episode_metrics.base, episode_metrics.visibility,
            episode_metrics.header, episode_metrics.bucket, episode_metrics.instance_id, episode_metrics.replicate
        ) = (
            aligned_episodes.plan_digest, aligned_episodes.variant, aligned_episodes.base, aligned_episodes.visibility,
            aligned_episodes.header, aligned_episodes.bucket, aligned_episodes.instance_id, aligned_episodes.replicate
        )
        and episode_metrics.training_seed is not distinct from aligned_episodes.training_seed
    where episode_metrics.plan_digest = $plan_digest
        and episode_metrics.purpose = 'evaluation'
        and episode_metrics.train_contract is not null
        and episode_metrics.condition <> 'P->P'
        and episode_metrics.is_counted
),

final as (
    select
        paired_episodes.variant,
        paired_episodes.base,
        paired_episodes.visibility,
        paired_episodes.header,
        paired_episodes.bucket,
        paired_episodes.measured_on,
        paired_episodes.condition,
        count(*) as pair_count,
        count(*) filter (not paired_episodes.is_finished) as unfinished_count,
        count(*) filter (not paired_episodes.is_aligned_finished) as aligned_unfinished_count,
        count(*) filter (paired_episodes.are_both_finished) as finished_pair_count,
        avg(paired_episodes.total_tokens) / avg(paired_episodes.aligned_tokens) as ratio_of_all,
        avg(paired_episodes.total_tokens) filter (paired_episodes.are_both_finished)
        / avg(paired_episodes.aligned_tokens) filter (paired_episodes.are_both_finished) as ratio_of_finished,
        median(paired_episodes.total_tokens / paired_episodes.aligned_tokens) as median_ratio
    from paired_episodes
    group by all
)

select * from final
order by variant, base, visibility, header, bucket, condition
