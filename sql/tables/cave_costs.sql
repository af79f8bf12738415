-- tokens that a conversation has cost by its n-th turn (token study), and that a task costs by rows of data, by arm
with costs as (
    select
        suite, instruction, arm, model_name,
        if(counted_cave_turns.suite = 'token_efficiency', counted_cave_turns.question, 0) as turn,
        counted_cave_turns.size as data_row_count,
        sum(counted_cave_turns.prompt_tokens) over conversation as prompt_tokens,
        sum(counted_cave_turns.completion_tokens) over conversation as completion_tokens
    from staging.counted_cave_turns
    where counted_cave_turns.plan_digest = $plan_digest
        and counted_cave_turns.suite in ('token_efficiency', 'data_sizes', 'data_intensive')
    window conversation as (
        partition by counted_cave_turns.episode_id
        order by counted_cave_turns.question
    )
)

select
    suite, turn, data_row_count, instruction, arm, model_name,
    count(*) as conversation_count,
    avg(costs.prompt_tokens) as mean_prompt_tokens,
    avg(costs.completion_tokens) as mean_completion_tokens,
    avg(costs.prompt_tokens + costs.completion_tokens) as mean_total_tokens
from costs
group by all
order by suite, turn, data_row_count, instruction, arm, model_name
