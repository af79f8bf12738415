-- The run that a report is about: the plan's latest, a whole study first.
select
    runs.*,
    run_ends.status, run_ends.finished_at
from runs
left join run_ends on runs.run_id = run_ends.run_id
where runs.plan_digest = $plan_digest
order by runs.flow = 'reproduce_study' desc, runs.started_at desc
limit 1
