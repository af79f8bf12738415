-- Episodes of an instance, or whose id starts with given characters: a row for each plan that has one, reused or not;
-- that of the plan that played it comes last.
select
    plan_episodes.*,
    runs.plan_name
from staging.plan_episodes
inner join runs on plan_episodes.run_id = runs.run_id
where starts_with(plan_episodes.episode_id, $name) or plan_episodes.instance_id = $name
order by
    plan_episodes.episode_id,
    plan_episodes.plan_digest = plan_episodes.playing_plan_digest,
    plan_episodes.plan_digest
