-- episodes whose turns, steps, call sites or executed calls are not as many as their rows say
with counted_turns as (
    select
        turns.episode_id,
        -- turn 0 holds the opening messages
        count(*) filter (turns.turn > 0) as turn_count
    from main.turns
    group by turns.episode_id
),

counted_steps as (
    select
        steps.episode_id,
        count(*) as step_count,
        sum(steps.call_site_count)::bigint as call_site_count,
        sum(steps.executed_call_count)::bigint as executed_call_count
    from main.steps
    group by steps.episode_id
),

counted_calls as (
    select
        tool_calls.episode_id,
        count(*) as executed_call_count
    from main.tool_calls
    group by tool_calls.episode_id
)

select
    episodes.episode_id,
    episodes.turn_count,
    coalesce(counted_turns.turn_count, 0) as turn_rows,
    episodes.step_count,
    coalesce(counted_steps.step_count, 0) as step_rows,
    episodes.call_site_count,
    coalesce(counted_steps.call_site_count, 0) as step_call_site_count,
    episodes.executed_call_count,
    coalesce(counted_steps.executed_call_count, 0) as step_executed_call_count,
    coalesce(counted_calls.executed_call_count, 0) as tool_call_rows
from main.episodes
left join counted_turns on episodes.episode_id = counted_turns.episode_id
left join counted_steps on episodes.episode_id = counted_steps.episode_id
left join counted_calls on episodes.episode_id = counted_calls.episode_id
where episodes.turn_count <> coalesce(counted_turns.turn_count, 0)
or episodes.step_count <> coalesce(counted_steps.step_count, 0)
or episodes.call_site_count <> coalesce(counted_steps.call_site_count, 0)
-- foreign traces have call sites but no executed calls
or (
    episodes.backend <> 'imported'
    and (
        episodes.executed_call_count <> coalesce(counted_steps.executed_call_count, 0)
        or episodes.executed_call_count <> coalesce(counted_calls.executed_call_count, 0)
    )
)
order by episode_id
