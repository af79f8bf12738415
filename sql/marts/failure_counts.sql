-- one row per evaluated cell and reading of the failure classes, with its counts of episodes
select
    plan_digest, measured_on, variant, base, visibility, header, bucket, model, condition, reading,
    is_sensitivity, episode_failures.is_default,
    count(*) filter (episode_failures.failure_class = 'optimal') as optimal_count,
    count(*) filter (episode_failures.failure_class like '%violation') as violation_count,
    count(*) filter (episode_failures.failure_class = 'execution_instability') as instability_count,
    count(*) filter (episode_failures.failure_class = 'silent_suboptimality') as silent_suboptimality_count,
    count(*) filter (episode_failures.failure_class = 'unclassified') as unclassified_count,
    count(*) filter (episode_failures.failure_class is null) as not_normally_ended_count
from marts.episode_failures
inner join marts.episode_metrics using (episode_id)
where purpose = 'evaluation' and is_counted
group by all
order by plan_digest, variant, base, visibility, header, bucket, condition, reading
