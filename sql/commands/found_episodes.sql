-- Episodes of an instance, or whose id starts with given characters.
select
    episodes.*,
    runs.plan_name
from episodes
inner join runs on episodes.run_id = runs.run_id
where starts_with(episodes.episode_id, $name) or episodes.instance_id = $name
order by episodes.episode_id
