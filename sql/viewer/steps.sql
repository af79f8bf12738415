-- The executed blocks of some episodes.
select steps.*
from steps
where steps.episode_id in (select unnest($episode_ids))
order by steps.episode_id, steps.step
