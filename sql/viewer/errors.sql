-- The errors of an episode, caught ones too.
select errors.*
from errors
where errors.episode_id = $episode_id
order by errors.turn, errors.error_index
