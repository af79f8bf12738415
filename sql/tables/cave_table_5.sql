-- CaveAgent, Table 5: success and tokens of the data tasks by category and arm; beside the published ones
with published_arms as (
    select
        case cave_table5.task_category
            when 'data_query' then 'query'
            when 'data_analysis' then 'analysis'
            else 'visualization'
        end as tier,
        case cave_table5.method
            when 'caveagent' then 'persistent_code'
            when 'codeact_style' then 'code_without_injection'
            else 'json'
        end as arm,
        cave_table5.success_rate_pct as published_passed_pct,
        cave_table5.total_tokens as published_total_tokens
    from published.cave_table5
),

measured as (
    select
        counted_cave_turns.tier,
        counted_cave_turns.arm,
        counted_cave_turns.model_name,
        counted_cave_turns.is_oracle,
        count(distinct counted_cave_turns.replicate) as replicate_count,
        count(*) / replicate_count as turn_count,
        100 * avg(counted_cave_turns.is_passed::int) as passed_pct,
        sum(counted_cave_turns.reply_count) / replicate_count as reply_count,
        sum(counted_cave_turns.prompt_tokens) / replicate_count as prompt_tokens,
        sum(counted_cave_turns.completion_tokens) / replicate_count as completion_tokens
    from staging.counted_cave_turns
    where counted_cave_turns.plan_digest = $plan_digest
        and counted_cave_turns.suite = 'data_intensive'
    group by all
),

final as (
    select
        coalesce(measured.tier, published_arms.tier) as category,
        coalesce(measured.arm, published_arms.arm) as arm,
        case
            when measured.is_oracle then 'oracle: shows only that the harness loses nothing'
            else measured.model_name
        end as played_by,
        measured.replicate_count,
        measured.turn_count as task_count,
        measured.passed_pct,
        measured.prompt_tokens,
        measured.completion_tokens,
        measured.prompt_tokens + measured.completion_tokens as total_tokens,
        published_arms.published_passed_pct,
        published_arms.published_total_tokens
    from published_arms
    full join measured
        on published_arms.tier = measured.tier
        and published_arms.arm = measured.arm
)

select * from final
order by category, arm, played_by
