-- The turns of an episode, each once per step that it ran, or once without one.
select
    turns.*,
    steps.code, steps.injected_fault, steps.state_event
from turns
left join steps on turns.episode_id = steps.episode_id and turns.turn = steps.turn
where turns.episode_id = $episode_id
order by turns.turn, steps.step
