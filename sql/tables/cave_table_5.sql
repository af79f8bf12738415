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
    select *
    from staging.measured_cave_arms
    where measured_cave_arms.plan_digest = $plan_digest
        and measured_cave_arms.suite = 'data_intensive'
        and measured_cave_arms.tier is not null
)

select
    tier as category, arm, measured.instruction, measured.played_by, measured.replicate_count,
    measured.turn_count as task_count,
    measured.passed_pct, measured.prompt_tokens, measured.completion_tokens, measured.total_tokens,
    measured.tokens_counted_by, published_arms.published_passed_pct, published_arms.published_total_tokens
from published_arms
full join measured using (tier, arm)
order by category, arm, instruction, played_by
