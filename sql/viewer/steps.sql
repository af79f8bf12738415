-- The executed blocks of an episode.
select steps.*
from steps
where steps.episode_id = $episode_id
order by steps.step
