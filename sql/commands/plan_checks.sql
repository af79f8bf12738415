-- What the newest run of every suite of checks found on a plan: rows looked at and rows that break each check.
with checked as (
    select
        check_results.*,
        rank() over (
            partition by check_results.suite
            order by check_results.checked_at desc, check_results.check_run_id desc
        ) as place
    from check_results
    inner join runs on check_results.run_id = runs.run_id
    where runs.plan_digest = $plan_digest
)

select
    suite,
    check_name,
    is_passed,
    row_count,
    unexpected_count
from checked
where place = 1
order by is_passed, suite, check_name
