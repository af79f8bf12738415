-- Names of the checks whose latest result is a failure.
select check_name
from check_results
qualify row_number() over (partition by suite, check_name order by checked_at desc) = 1 and not is_passed
order by check_name
