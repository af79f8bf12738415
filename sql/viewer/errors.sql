-- The errors of some episodes, caught ones too.
select errors.*
from errors
where errors.episode_id in (select unnest($episode_ids))
order by errors.episode_id, errors.turn, errors.error_index
