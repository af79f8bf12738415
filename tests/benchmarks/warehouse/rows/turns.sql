-- the opening messages and two turns of every episode
select
    'run' as run_id,
    'e' || number as episode_id,
    turn,
    'I look at every item.' as assistant_text,
    if(turn = 0, '[]', 'There are two items.') as observation,
    1 as block_count,
    false as has_system_note,
    'stop' as model_finish_reason,
    if(turn = 0, 0, cast(1000 + hash(number + 1) % 5000 as bigint)) as prompt_tokens,
    if(turn = 0, 0, 300) as cached_prompt_tokens,
    if(turn = 0, 0, 50) as completion_tokens,
    0.5 as model_seconds,
    [] as active_globals,
    [] as last_step_globals
from range($first, $last) as numbers (number)
cross join unnest([0, 1, 2]) as turns (turn)
