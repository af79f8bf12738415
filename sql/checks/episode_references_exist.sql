-- episodes whose instance did not land, and rows of turns, steps and what hangs on them whose parent did not
with referring_rows as (
    select episode_id, 'turns' as table_name, null::bigint as step from main.turns
    union
    select episode_id, 'steps' as table_name, null::bigint as step from main.steps
    union
    select episode_id, 'runtime_events' as table_name, null::bigint as step from main.runtime_events
    union
    select episode_id, 'name_events' as table_name, step from main.name_events
    union
    select episode_id, 'tool_calls' as table_name, step from main.tool_calls
    union
    select episode_id, 'errors' as table_name, step from main.errors
)

select
    episode_id, table_name,
    'its step ' || step as missing
from referring_rows
anti join main.steps using (episode_id, step)
where step is not null
union all
select distinct
    episode_id, table_name,
    'its episode' as missing
from referring_rows
anti join main.episodes using (episode_id)
union all
select
    episode_id,
    'episodes' as table_name,
    'instance ' || instance_id || ' of split ' || split as missing
from main.episodes
anti join main.instances using (instance_id, split)
-- foreign traces name problems that are not ours, and a CaveAgent's conversation is about none
where backend <> 'imported'
    and coalesce(agent, 'study') = 'study'
order by episode_id, table_name, missing
