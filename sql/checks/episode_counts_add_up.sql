-- episodes whose turns, steps, call sites or executed calls are not as many as their rows say
with counted_turns as (
    -- turn 0 holds the opening messages
    select episode_id, count(*) filter (turn > 0) as turn_count from main.turns group by all
),

counted_steps as (
    select
        steps.episode_id,
        count(*) as step_count,
        sum(steps.call_site_count)::bigint as call_site_count,
        sum(steps.executed_call_count)::bigint as executed_call_count
    from main.steps
    group by all
),

counted_calls as (
    select episode_id, count(*) as call_count from main.tool_calls group by all
)

select
    episodes.episode_id, episodes.turn_count,
    coalesce(counted_turns.turn_count, 0) as turn_rows,
    episodes.step_count,
    coalesce(counted_steps.step_count, 0) as step_rows,
    episodes.call_site_count,
    coalesce(counted_steps.call_site_count, 0) as step_call_site_count,
    episodes.executed_call_count,
    coalesce(counted_steps.executed_call_count, 0) as step_executed_call_count,
    coalesce(counted_calls.call_count, 0) as tool_call_rows
from main.episodes
left join counted_turns using (episode_id)
left join counted_steps using (episode_id)
left join counted_calls using (episode_id)
where (episodes.turn_count, episodes.step_count, episodes.call_site_count)
    <> (turn_rows, step_rows, step_call_site_count)
    -- foreign traces have call sites but no executed calls
    or (
        episodes.backend <> 'imported'
        and (step_executed_call_count, tool_call_rows) <> (episodes.executed_call_count, episodes.executed_call_count)
    )
order by episode_id
