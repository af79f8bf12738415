-- Changes of an episode's interpreter other than steps.
select runtime_events.*
from runtime_events
where runtime_events.episode_id = $episode_id
order by runtime_events.sequence
