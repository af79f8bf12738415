-- one row per arm of CaveAgent's token study: the totals that its Table 4 prints
with published_values as (
    unpivot published.cave_table_4
    on caveagent, function_calling
    into name method value published_value
)

select
    if(method = 'caveagent', 'persistent_code', 'json') as arm,
    max(published_value) filter (metric = 'total_steps') as published_reply_count,
    max(published_value) filter (metric = 'prompt_tokens') as published_prompt_tokens,
    max(published_value) filter (metric = 'completion_tokens') as published_completion_tokens,
    max(published_value) filter (metric = 'avg_success_rate') as published_passed_pct
from published_values
group by all
order by arm
