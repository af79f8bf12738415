-- Table 1: teachers' episodes, one row per metric; ours beside Gemini 3 Flash on Easy
with measured_teachers as (
    select
        scale, model_name, variant, bucket, published_split, runtime_contract,
        cast(count(*) as double) as episode_count,
        100 * avg(cast(is_solved as integer)) as teacher_success_rate,
        avg(score) as avg_teacher_optimality,
        100 * avg(capacity_use) as avg_capacity_utilization,
        avg(inspected_count) as avg_items_inspected,
        avg(step_count) as avg_steps_per_episode,
        avg(call_site_count) as avg_tool_calls_per_episode,
        avg(executed_call_count) as avg_executed_calls_per_episode,
        avg(total_tokens) as avg_total_tokens_per_episode,
        avg(prompt_tokens) as avg_prompt_tokens_per_episode,
        avg(cached_prompt_tokens) as avg_cached_prompt_tokens_per_episode,
        avg(completion_tokens) as avg_completion_tokens_per_episode,
        avg(training_tokens) as avg_training_tokens_per_episode,
        avg(injected_fault_count) as avg_injected_faults_per_episode
    from marts.episode_metrics
    where plan_digest = $plan_digest and purpose = 'teacher' and is_counted
    group by all
),

paired_contracts as (
    select
        scale, model_name, variant, bucket, published_split, metric,
        max(measured) filter (runtime_contract = 'persistent') as persistent,
        max(measured) filter (runtime_contract = 'stateless') as stateless
    from (
        unpivot measured_teachers
        on columns(* exclude (scale, model_name, variant, bucket, published_split, runtime_contract))
        into name metric value measured
    )
    group by all
)

select
    variant, bucket, ours.metric,
    case
        when published_units.unit is not null then published_units.unit
        when ours.metric like '%tokens%' then 'tokens'
        when ours.metric like '%calls%' then 'calls'
        when ours.metric like '%faults%' then 'faults'
        else 'episodes'
    end as unit,
    measured_on, ours.persistent, ours.stateless,
    ours.stateless / nullif(ours.persistent, 0) as stateless_over_persistent,
    theirs.persistent as gemini_3_flash_easy_persistent,
    theirs.stateless as gemini_3_flash_easy_stateless,
    theirs.stateless / theirs.persistent as gemini_3_flash_easy_stateless_over_persistent,
    if(is_as_published, ours.persistent - theirs.persistent, null) as persistent_difference,
    if(is_as_published, ours.stateless - theirs.stateless, null) as stateless_difference,
    if(is_as_published, stateless_over_persistent - gemini_3_flash_easy_stateless_over_persistent, null)
        as stateless_over_persistent_difference
from paired_contracts as ours
inner join marts.teacher_labels using (scale, model_name)
left join published.table_1 as published_units on ours.metric = published_units.metric
left join published.table_1 as theirs
    on ours.metric = theirs.metric and variant = 'main' and published_split = 'easy'
order by variant, bucket, unit, metric, measured_on
