-- runs of a study played by another source than its plan's; only what is evaluated again or computed anew may be, and
-- a server, which lands no rows
select
    plan_digest, run_id, flow,
    if(json_valid(runs.plan_json), runs.plan_json, null) ->> '$.source' as plan_source,
    runs.source
from main.runs
where runs.flow not in ('reevaluate_model', 'analyse_study', 'import', 'serve_models')
and runs.source <> plan_source
order by plan_digest, run_id
