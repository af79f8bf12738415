-- What the newest run of every suite of checks found on a plan: rows looked at and rows that break each check.
select
    if(is_passed, 'passed', 'broken') as result,
    suite,
    check_name as "check",
    row_count as "rows",
    unexpected_count as "broken by"
from check_results
inner join runs on check_results.run_id = runs.run_id
where runs.plan_digest = $plan_digest
qualify rank() over (partition by suite order by checked_at desc, check_run_id desc) = 1
order by result, suite, check_name
