-- steps that saw names the contract had ended, or missed names it had kept: a second canary, from the recorded names
with consecutive_steps as (
    select
        episode_id, step, active_globals_before,
        coalesce(lag(active_globals) over (partition by episode_id order by step), []::varchar[]) as expected_globals
    from main.steps
),

-- a drop, an injection or a restore changes names between steps, as recorded; a refusal of the policy changes none
touched_steps as (
    select distinct episode_id, step + 1 as step
    from main.runtime_events
    where kind <> 'policy_violation'
)

select
    episode_id, step, runtime_contract, active_globals_before, expected_globals
from consecutive_steps
inner join main.episodes using (episode_id)
left join touched_steps using (episode_id, step)
where backend <> 'imported'
    and case runtime_contract
        when 'stateless' then len(active_globals_before) > 0
        when 'persistent' then
            touched_steps.step is null
            and list_sort(active_globals_before) <> list_sort(expected_globals)
    end
order by episode_id, step
