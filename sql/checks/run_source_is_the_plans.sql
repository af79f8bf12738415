-- runs of a study played by another source than its plan's; only what is evaluated again or computed anew may be, and
-- a server, which lands no rows
with described_runs as (
    select
        runs.plan_digest,
        runs.run_id,
        runs.flow,
        if(json_valid(runs.plan_json), runs.plan_json, null) ->> '$.source' as plan_source,
        -- none for a run of an earlier version
        if(json_valid(runs.environment_json), runs.environment_json, null) ->> '$.source' as source
    from main.runs
),

final as (
    select described_runs.*
    from described_runs
    where described_runs.flow not in ('reevaluate_model', 'analyse_study', 'import', 'serve_models')
    and described_runs.source <> described_runs.plan_source
)

select * from final
order by plan_digest, run_id
