-- A teacher's reply that was read from the kept ones.
insert into main.turns by name
select
    'first' as run_id,
    'old' as episode_id,
    1 as turn,
    'I look.' as assistant_text,
    'seven' as observation,
    1 as block_count,
    false as has_system_note,
    'stop' as model_finish_reason,
    10 as prompt_tokens,
    0 as cached_prompt_tokens,
    5 as completion_tokens,
    0.1 as model_seconds,
    []::varchar[] as active_globals,
    []::varchar[] as last_step_globals,
    true as is_replayed;
