-- one row per plan and episode: those that the plan played, and those that it reuses from another plan
with plans_of_episodes as (
    select plan_digest, episode_id from main.episodes
    union
    select plan_digest, episode_id from main.reused_episodes
)

select
    episodes.* replace (plans_of_episodes.plan_digest as plan_digest),
    episodes.plan_digest as playing_plan_digest
from main.episodes
inner join plans_of_episodes on episodes.episode_id = plans_of_episodes.episode_id
order by plan_digest, episode_id
