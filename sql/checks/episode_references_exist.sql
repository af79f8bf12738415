-- episodes whose instance did not land, and rows of turns, steps and what hangs on them whose parent did not
with referring_rows as (
    select
        turns.episode_id,
        'turns' as table_name,
        null::bigint as step
    from main.turns
    union
    select
        steps.episode_id,
        'steps' as table_name,
        null::bigint as step
    from main.steps
    union
    select
        runtime_events.episode_id,
        'runtime_events' as table_name,
        null::bigint as step
    from main.runtime_events
    union
    select
        name_events.episode_id,
        'name_events' as table_name,
        name_events.step
    from main.name_events
    union
    select
        tool_calls.episode_id,
        'tool_calls' as table_name,
        tool_calls.step
    from main.tool_calls
    union
    select
        errors.episode_id,
        'errors' as table_name,
        errors.step
    from main.errors
),

without_parent as (
    select
        referring_rows.episode_id,
        referring_rows.table_name,
        'its step ' || referring_rows.step as missing
    from referring_rows
    anti join main.steps
        on referring_rows.episode_id = steps.episode_id
        and referring_rows.step = steps.step
    where referring_rows.step is not null
    union all
    select distinct
        referring_rows.episode_id,
        referring_rows.table_name,
        'its episode' as missing
    from referring_rows
    anti join main.episodes on referring_rows.episode_id = episodes.episode_id
    union all
    select
        episodes.episode_id,
        'episodes' as table_name,
        'instance ' || episodes.instance_id || ' of split ' || episodes.split as missing
    from main.episodes
    anti join main.instances
        on episodes.instance_id = instances.instance_id
        and episodes.split = instances.split
    -- foreign traces name problems that are not ours, and a CaveAgent's conversation is about none
    where episodes.backend <> 'imported'
    and coalesce(episodes.agent, 'study') = 'study'
)

select
    without_parent.episode_id,
    without_parent.table_name,
    without_parent.missing
from without_parent
order by episode_id, table_name, missing
