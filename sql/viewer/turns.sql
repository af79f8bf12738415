-- The turns of some episodes; turn 0 holds the opening messages.
select turns.*
from turns
where turns.episode_id in (select unnest($episode_ids))
order by turns.episode_id, turns.turn
