-- Re-evaluations by another source than their study's, and their episodes.
with described_runs as (
    select
        runs.run_id,
        if(json_valid(runs.plan_json), runs.plan_json, null) ->> '$.source' as plan_source,
        if(json_valid(runs.environment_json), runs.environment_json, null) ->> '$.source' as source
    from runs
    where runs.flow = 'reevaluate_model'
)

select
    count(distinct described_runs.run_id) as run_count,
    count(episodes.episode_id) as episode_count
from described_runs
left join episodes on described_runs.run_id = episodes.run_id
where described_runs.source <> described_runs.plan_source
