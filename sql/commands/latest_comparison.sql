-- at most one row: the comparison of arms that finished last
select runs.plan_digest
from main.runs
inner join main.run_ends on runs.run_id = run_ends.run_id
where runs.flow = 'compare_arms'
    and run_ends.status = 'finished'
order by run_ends.finished_at desc, runs.run_id desc
limit 1
