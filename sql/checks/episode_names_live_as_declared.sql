-- steps that saw names the contract had ended, or missed names it had kept: a second canary, from the recorded names
with consecutive_steps as (
    select
        steps.episode_id,
        steps.step,
        steps.active_globals_before,
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
    consecutive_steps.episode_id,
    consecutive_steps.step,
    episodes.runtime_contract,
    consecutive_steps.active_globals_before,
    consecutive_steps.expected_globals
from consecutive_steps
inner join main.episodes on consecutive_steps.episode_id = episodes.episode_id
where episodes.backend <> 'imported'
and (
    (
        episodes.runtime_contract = 'stateless'
        and len(consecutive_steps.active_globals_before) > 0
    )
    or (
        episodes.runtime_contract = 'persistent'
        and list_sort(consecutive_steps.active_globals_before) <> list_sort(consecutive_steps.expected_globals)
        and not exists (
            select 1
            from touched_steps
            where touched_steps.episode_id = consecutive_steps.episode_id
            and touched_steps.step = consecutive_steps.step
        )
    )
)
order by episode_id, step
