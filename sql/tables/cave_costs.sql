-- tokens by arm: of a conversation by its n-th turn, of a task by rows of data or by category of BFCL
with costs as (
    select
        suite, instruction, arm, model_name,
        if(suite = 'bfcl', tier, 'all') as category,
        if(suite in ('token_efficiency', 'long_horizon'), question, 0) as turn,
        size as data_row_count,
        sum(prompt_tokens) over conversation as prompt_tokens,
        sum(completion_tokens) over conversation as completion_tokens
    from staging.counted_cave_turns
    where plan_digest = $plan_digest
        and suite in ('token_efficiency', 'long_horizon', 'data_sizes', 'data_intensive', 'bfcl')
    window conversation as (partition by episode_id order by question)
)

select
    suite, category, turn, data_row_count, instruction, arm, model_name,
    count(*) as conversation_count,
    avg(prompt_tokens) as mean_prompt_tokens,
    avg(completion_tokens) as mean_completion_tokens,
    avg(prompt_tokens + completion_tokens) as mean_total_tokens
from costs
group by all
order by suite, category, turn, data_row_count, instruction, arm, model_name
