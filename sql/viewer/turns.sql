-- The turns of an episode; turn 0 holds the opening messages.
select turns.*
from turns
where turns.episode_id = $episode_id
order by turns.turn
