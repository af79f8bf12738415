-- CaveAgent, Table 4: steps, tokens and success of the token study by arm; published for CaveAgent and function calling
with measured as (
    select
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
        and counted_cave_turns.suite = 'token_efficiency'
    group by all
),

published_arms as (
    select
        'persistent_code' as arm,
        max(cave_table4.caveagent) filter (cave_table4.metric = 'total_steps') as published_reply_count,
        max(cave_table4.caveagent) filter (cave_table4.metric = 'prompt_tokens') as published_prompt_tokens,
        max(cave_table4.caveagent) filter (cave_table4.metric = 'completion_tokens') as published_completion_tokens,
        max(cave_table4.caveagent) filter (cave_table4.metric = 'avg_success_rate') as published_passed_pct
    from published.cave_table4
    union all
    select
        'json' as arm,
        max(cave_table4.function_calling) filter (cave_table4.metric = 'total_steps') as published_reply_count,
        max(cave_table4.function_calling) filter (cave_table4.metric = 'prompt_tokens') as published_prompt_tokens,
        max(cave_table4.function_calling) filter (cave_table4.metric = 'completion_tokens')
            as published_completion_tokens,
        max(cave_table4.function_calling) filter (cave_table4.metric = 'avg_success_rate') as published_passed_pct
    from published.cave_table4
),

final as (
    select
        coalesce(measured.arm, published_arms.arm) as arm,
        case
            when measured.is_oracle then 'oracle: shows only that the harness loses nothing'
            else measured.model_name
        end as played_by,
        measured.replicate_count,
        measured.turn_count,
        measured.reply_count,
        measured.prompt_tokens,
        measured.completion_tokens,
        measured.prompt_tokens + measured.completion_tokens as total_tokens,
        measured.passed_pct,
        published_arms.* exclude (arm)
    from published_arms
    full join measured on published_arms.arm = measured.arm
)

select * from final
order by arm, played_by
