-- two steps of every episode, as rows of `main.steps`
select
    episodes.run_id,
    episodes.episode_id,
    step,
    step as turn,
    'ids = list_items()' as code,
    '' as output,
    true as is_parsed,
    2 - step as import_count,
    1 as call_site_count,
    2 as executed_call_count,
    if(step = 2 and episodes.runtime_contract = 'persistent', ['ids'], []) as active_globals_before,
    if(episodes.runtime_contract = 'persistent', ['ids', 'table'][:step], []) as active_globals,
    ['ids', 'table'] as last_step_globals,
    'kept' as state_event,
    0.1 as execution_seconds
from main.episodes
cross join unnest([1, 2]) as steps (step)
