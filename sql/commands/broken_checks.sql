-- Names of the checks whose latest result is a failure.
with latest_checks as (
    select *
    from check_results
    qualify row_number() over (partition by suite, check_name order by checked_at desc) = 1
)

select check_name
from latest_checks
where not is_passed
order by check_name
