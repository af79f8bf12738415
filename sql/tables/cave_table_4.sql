-- CaveAgent, Table 4: steps, tokens and success of the token study by arm; published for CaveAgent and function calling
with measured as (
    select *
    from staging.measured_cave_arms
    where measured_cave_arms.plan_digest = $plan_digest
        and measured_cave_arms.suite = 'token_efficiency'
        and measured_cave_arms.tier is null
),

published_values as (
    unpivot published.cave_table4
    on caveagent, function_calling
    into name method value published_value
),

published_arms as (
    select
        if(published_values.method = 'caveagent', 'persistent_code', 'json') as arm,
        max(published_values.published_value) filter (published_values.metric = 'total_steps') as published_reply_count,
        max(published_values.published_value) filter (published_values.metric = 'prompt_tokens')
            as published_prompt_tokens,
        max(published_values.published_value) filter (published_values.metric = 'completion_tokens')
            as published_completion_tokens,
        max(published_values.published_value) filter (published_values.metric = 'avg_success_rate')
            as published_passed_pct
    from published_values
    group by all
)

select
    arm, measured.instruction, measured.played_by, measured.replicate_count, measured.turn_count,
    measured.reply_count, measured.prompt_tokens, measured.completion_tokens, measured.total_tokens,
    measured.tokens_counted_by, measured.passed_pct,
    published_arms.* exclude (arm)
from published_arms
full join measured using (arm)
order by arm, instruction, played_by
