-- one row per trained cell other than P->P: its token cost over P->P, of all pairs and of those that ended normally
with trained_episodes as (
    select
        *,
        finish_category = 'normal' as is_finished,
        -- imported episodes have no training seed
        coalesce(training_seed, -1) as model_seed
    from marts.episode_metrics
    where purpose = 'evaluation' and train_contract is not null and is_counted
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
    where trained_episodes.condition <> 'P->P' and aligned.condition = 'P->P'
)

select
    plan_digest, variant, base, visibility, header, bucket,
    min(measured_on) as measured_on,
    condition,
    count(*) as pair_count,
    count(*) filter (not is_finished) as unfinished_count,
    count(*) filter (not is_aligned_finished) as aligned_unfinished_count,
    count(*) filter (are_both_finished) as finished_pair_count,
    avg(total_tokens) / avg(aligned_tokens) as ratio_of_all,
    avg(total_tokens) filter (are_both_finished)
    / avg(aligned_tokens) filter (are_both_finished) as ratio_of_finished,
    median(total_tokens / aligned_tokens) as median_ratio
from paired_episodes
group by all
order by plan_digest, variant, base, visibility, header, bucket, condition
