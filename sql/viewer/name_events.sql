-- What the blocks of an episode do with names.
select name_events.*
from name_events
where name_events.episode_id = $episode_id
order by name_events.step, name_events.sequence
