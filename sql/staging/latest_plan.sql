-- at most one row: the plan whose study finished last; the plan of the last import where no study has finished
select
    runs.plan_digest, runs.run_id, run_ends.finished_at
from main.runs
inner join main.run_ends on runs.run_id = run_ends.run_id
where run_ends.status = 'finished'
    and runs.flow in ('reproduce_study', 'import')
order by runs.flow = 'reproduce_study' desc, run_ends.finished_at desc, runs.run_id desc
limit 1
