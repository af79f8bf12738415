-- episodes whose score is outside [0, 1], or is not the optimum although the episode counts as solved, or the reverse
select
    episode_id, score, is_solved
from main.episodes
where score not between 0 and 1
or is_solved <> coalesce(score >= 1, false)
order by episode_id
