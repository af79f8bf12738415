-- CaveAgent, Table 4: steps, tokens and success of the token study by arm; published for CaveAgent and function calling
with measured as (
    from staging.measured_cave_arms
    where plan_digest = $plan_digest and suite = 'token_efficiency' and tier is null
),

published_values as (
    unpivot published.cave_table_4
    on caveagent, function_calling
    into name method value published_value
),

published_arms as (
    select
        if(method = 'caveagent', 'persistent_code', 'json') as arm,
        max(published_value) filter (metric = 'total_steps') as published_reply_count,
        max(published_value) filter (metric = 'prompt_tokens') as published_prompt_tokens,
        max(published_value) filter (metric = 'completion_tokens') as published_completion_tokens,
        max(published_value) filter (metric = 'avg_success_rate') as published_passed_pct
    from published_values
    group by all
)

select
    arm, instruction, played_by, replicate_count, turn_count, reply_count, prompt_tokens, completion_tokens,
    total_tokens, tokens_counted_by, passed_pct,
    published_arms.* exclude (arm)
from published_arms
full join measured using (arm)
order by arm, instruction, played_by
