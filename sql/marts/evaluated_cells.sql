-- one row per evaluated cell with counts, means and intervals, beside Qwen3-8B's; the tables on cells read this
with counted_cells as (
    select
        plan_digest, variant, base, visibility, header, bucket, train_contract, runtime_contract, condition, model,
        count(*) as episode_count,
        count(*) filter (finish_category = 'normal') as ended_count,
        count(distinct instance_id) as instance_count,
        count(distinct training_seed) as seed_count,
        100 * avg(score) as score_pct,
        100 * median(score) as median_score_pct,
        100 * avg(score) filter (finish_category = 'normal') as score_of_ended_pct,
        cast(sum(cast(is_solved as integer)) as bigint) as solved_count,
        100 * avg(cast(is_solved as integer)) as solved_pct,
        avg(step_count) as mean_steps,
        cast(sum(step_count) as bigint) as total_turns,
        avg(total_tokens) as mean_total_tokens,
        median(total_tokens) as median_tokens,
        avg(total_tokens) filter (finish_category = 'normal') as mean_tokens_of_ended,
        avg(prompt_tokens) as mean_prompt_tokens,
        avg(cached_prompt_tokens) as mean_cached_prompt_tokens,
        avg(completion_tokens) as mean_completion_tokens,
        avg(wall_seconds) as mean_seconds,
        100 * avg(cast(has_missing_name as integer)) as missing_name_episode_pct,
        cast(sum(missing_name_count) as bigint) as missing_name_total,
        avg(missing_name_count) as missing_names_per_episode,
        avg(missing_name_count) filter (has_missing_name) as missing_names_per_affected_episode,
        count(*) filter (failure_class = 'optimal') as optimal_count,
        count(*) filter (failure_class <> 'optimal') as normally_ended_not_optimal_count,
        count(*) filter (failure_class = 'capacity_violation') as capacity_violation_count,
        count(*) filter (failure_class = 'class_violation') as class_violation_count,
        count(*) filter (failure_class = 'protocol_violation') as protocol_violation_count,
        count(*) filter (failure_class like '%violation') as violation_count,
        count(*) filter (failure_class = 'execution_instability') as instability_count,
        count(*) filter (failure_class = 'silent_suboptimality') as silent_suboptimality_count,
        count(*) filter (failure_class is null) as not_normally_ended_count,
        avg(columns([
            'context_lifespan', 'interpreter_lifespan', 'imports_per_step',
            'state_utilization', 'redefinitions_per_step', 'state_footprint'
        ])) as '\0',
        cast(sum(unparsed_step_count) as bigint) as unparsed_step_count
    from marts.episode_metrics
    where purpose = 'evaluation' and is_counted
    group by all
)

select
    ours.*,
    evaluated_buckets.* exclude (plan_digest, variant, base, visibility, header, bucket),
    intervals.* exclude (
        plan_digest, variant, base, visibility, header, bucket, train_contract, runtime_contract
    ),
    columns(theirs.* exclude (model, train_semantics, runtime_semantics)) as 'qwen3_8b_\0'
from counted_cells as ours
inner join marts.evaluated_buckets using (plan_digest, variant, base, visibility, header, bucket)
left join staging.mean_intervals as intervals
    on (ours.plan_digest, ours.variant, ours.base, ours.visibility, ours.header, ours.bucket, ours.runtime_contract)
    = (intervals.plan_digest, intervals.variant, intervals.base, intervals.visibility, intervals.header,
       intervals.bucket, intervals.runtime_contract)
    and ours.train_contract is not distinct from intervals.train_contract
left join staging.published_cells as theirs
    on (published_split, ours.runtime_contract) = (theirs.split, theirs.runtime_semantics)
    and ours.train_contract is not distinct from theirs.train_semantics
    and ours.model <> 'teacher'
    and is_as_published
order by plan_digest, variant, base, visibility, header, bucket, condition
