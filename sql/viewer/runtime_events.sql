-- Changes of the interpreters of some episodes other than steps.
select runtime_events.*
from runtime_events
where runtime_events.episode_id in (select unnest($episode_ids))
order by runtime_events.episode_id, runtime_events.sequence
