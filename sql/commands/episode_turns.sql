-- The turns of an episode, each with the step that it ran.
select
    turns.*,
    steps.code, steps.injected_fault, steps.state_event
from turns
left join steps on turns.episode_id = steps.episode_id and turns.turn = steps.turn
where turns.episode_id = $episode_id
order by turns.turn
