-- one row per trained cell other than P->P: its token cost over P->P, of all pairs and of those that ended normally
with trained_episodes as (
    select
        episode_metrics.*,
        episode_metrics.finish_category = 'normal' as is_finished,
        -- imported episodes have no training seed
        coalesce(episode_metrics.training_seed, -1) as model_seed
    from marts.episode_metrics
    where episode_metrics.purpose = 'evaluation'
        and episode_metrics.train_contract is not null
        and episode_metrics.is_counted
),

paired_episodes as (
    select
        plan_digest, variant, base, visibility, header, bucket,
        trained_episodes.measured_on, trained_episodes.condition, trained_episodes.total_tokens,
        aligned.total_tokens as aligned_tokens,
        trained_episodes.is_finished,
        aligned.is_finished as is_aligned_finished,
        trained_episodes.is_finished and aligned.is_finished as are_both_finished
    from trained_episodes
    inner join trained_episodes as aligned
        using (plan_digest, variant, base, visibility, header, bucket, instance_id, replicate, model_seed)
    where trained_episodes.condition <> 'P->P'
        and aligned.condition = 'P->P'
)

select
    plan_digest, variant, base, visibility, header, bucket,
    min(paired_episodes.measured_on) as measured_on,
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
order by plan_digest, variant, base, visibility, header, bucket, condition
