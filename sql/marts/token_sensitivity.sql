-- one row per trained cell other than P->P: its token cost over P->P, of all pairs and of those that ended normally
with trained_episodes as (
    select
        *,
        finish_category = 'normal' as is_finished,
        staging.model_seed(training_seed) as model_seed
    from marts.episode_metrics
    where purpose = 'evaluation' and model = 'sft' and is_counted
)

select
    plan_digest, variant, base, visibility, header, bucket,
    min(ours.measured_on) as measured_on,
    ours.condition,
    count(*) as pair_count,
    count(*) filter (not ours.is_finished) as unfinished_count,
    count(*) filter (not aligned.is_finished) as aligned_unfinished_count,
    count(*) filter (ours.is_finished and aligned.is_finished) as finished_pair_count,
    avg(ours.total_tokens) / avg(aligned.total_tokens) as ratio_of_all,
    avg(ours.total_tokens) filter (ours.is_finished and aligned.is_finished)
    / avg(aligned.total_tokens) filter (ours.is_finished and aligned.is_finished) as ratio_of_finished,
    median(ours.total_tokens / aligned.total_tokens) as median_ratio
from trained_episodes as ours
inner join trained_episodes as aligned
    using (plan_digest, variant, base, visibility, header, bucket, instance_id, replicate, model_seed)
where ours.condition <> 'P->P' and aligned.condition = 'P->P'
group by all
order by plan_digest, variant, base, visibility, header, bucket, condition
