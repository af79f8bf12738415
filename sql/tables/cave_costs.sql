-- tokens that a conversation has cost by its n-th turn (token study), and that a task costs by rows of data, by arm
with costs as (
    select
        suite, instruction, arm, model_name,
        if(suite = 'token_efficiency', question, 0) as turn,
        size as data_row_count,
        sum(prompt_tokens) over conversation as prompt_tokens,
        sum(completion_tokens) over conversation as completion_tokens
    from staging.counted_cave_turns
    where plan_digest = $plan_digest
        and suite in ('token_efficiency', 'data_sizes', 'data_intensive')
    window conversation as (partition by episode_id order by question)
)

select
    suite, turn, data_row_count, instruction, arm, model_name,
    count(*) as conversation_count,
    avg(prompt_tokens) as mean_prompt_tokens,
    avg(completion_tokens) as mean_completion_tokens,
    avg(prompt_tokens + completion_tokens) as mean_total_tokens
from costs
group by all
order by suite, turn, data_row_count, instruction, arm, model_name
