-- How many of a plan's episodes are left out of the tables because their last attempt ended with `error`.
select count(*) as episode_count
from marts.episode_metrics
where plan_digest = $plan_digest and is_last_attempt and finish_reason = 'error'
