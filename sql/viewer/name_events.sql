-- What the blocks of some episodes do with names.
select name_events.*
from name_events
where name_events.episode_id in (select unnest($episode_ids))
order by name_events.episode_id, name_events.step, name_events.sequence
