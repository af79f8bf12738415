-- steps that saw names the contract had ended, or missed names it had kept: a second canary, from the recorded names
with consecutive_steps as (
    select
        episode_id, step, active_globals_before,
        coalesce(
            lag(steps.active_globals) over (partition by steps.episode_id order by steps.step),
            []::varchar[]
        ) as expected_globals
    from main.steps
),

-- a drop, an injection or a restore changes names between steps, as recorded; a refusal of the policy changes none
touched_steps as (
    select distinct
        runtime_events.episode_id,
        runtime_events.step + 1 as step
    from main.runtime_events
    where runtime_events.kind <> 'policy_violation'
)

select
    consecutive_steps.episode_id, consecutive_steps.step, episodes.runtime_contract,
    consecutive_steps.active_globals_before, consecutive_steps.expected_globals
from consecutive_steps
inner join main.episodes using (episode_id)
left join touched_steps using (episode_id, step)
where episodes.backend <> 'imported'
    and case episodes.runtime_contract
        when 'stateless' then len(consecutive_steps.active_globals_before) > 0
        when 'persistent' then
            touched_steps.step is null
            and list_sort(consecutive_steps.active_globals_before) <> list_sort(consecutive_steps.expected_globals)
    end
order by episode_id, step
