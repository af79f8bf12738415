-- four bindings and reads of every step, as rows of `main.name_events`
select
    steps.run_id,
    steps.episode_id,
    steps.step,
    sequence,
    if(sequence % 2 = 0, 'bind', 'read') as kind,
    ['ids', 'table', 'table', 'ids'][1 + sequence] as name,
    1 as line,
    false as is_definition,
    false as is_deferred,
    len(steps.active_globals_before) > 0 as is_live_before
from main.steps
cross join unnest([0, 1, 2, 3]) as sequences (sequence)
