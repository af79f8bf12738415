-- Re-evaluations by another source than their study's, and their episodes.
select
    count(distinct runs.run_id) as run_count,
    count(episodes.episode_id) as episode_count
from runs
left join episodes on runs.run_id = episodes.run_id
where runs.flow = 'reevaluate_model'
    and runs.source <> (if(json_valid(runs.plan_json), runs.plan_json, null) ->> '$.source')
