-- CaveAgent, Table 5: success and tokens of the data tasks by category and arm; beside the published ones
with published_arms as (
    select
        case task_category
            when 'data_query' then 'query'
            when 'data_analysis' then 'analysis'
            else 'visualization'
        end as tier,
        case method
            when 'caveagent' then 'persistent_code'
            when 'codeact_style' then 'code_act'
            else 'json'
        end as arm,
        success_rate_pct as published_passed_pct,
        total_tokens as published_total_tokens
    from published.cave_table_5
),

measured as (
    from staging.measured_cave_arms
    where plan_digest = $plan_digest and suite = 'data_intensive' and tier is not null
)

select
    tier as category, arm, instruction, played_by, replicate_count,
    turn_count as task_count,
    passed_pct, prompt_tokens, completion_tokens, total_tokens, tokens_counted_by, published_passed_pct,
    published_total_tokens
from published_arms
full join measured using (tier, arm)
order by category, arm, instruction, played_by
