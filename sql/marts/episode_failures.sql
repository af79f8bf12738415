-- one row per episode and reading of the failure classes (arXiv 2603.01209, appendix D.3); the first match decides
with own_errors as (
    select
        errors.episode_id, is_caught, window_step_count,
        kind = 'interpreter' and not is_caught as is_interpreter_error,
        kind = 'cap' and not is_caught as is_cap_error,
        step > step_count - window_step_count as is_in_window,
        contains(lower(message), 'exceeds capacity') as names_capacity,
        contains(lower(message), 'disallowed class') as names_class,
        regexp_matches(lower(message), 'must be inspected|already taken') as names_protocol
    from main.errors
    inner join main.episodes on errors.episode_id = episodes.episode_id
    cross join (select distinct window_step_count from staging.failure_parameters) as windows
    where not errors.is_injected
),

counted_errors as (
    select
        episode_id, window_step_count,
        count(*) filter (is_interpreter_error) as interpreter_error_count,
        count(*) filter (is_cap_error) as cap_error_count,
        count(*) filter (is_interpreter_error and is_in_window) as window_interpreter_error_count,
        count(*) filter (is_cap_error and is_in_window) as window_cap_error_count,
        -- [uncaught only, caught ones too]
        [bool_or(names_capacity and not is_caught), bool_or(names_capacity)] as names_capacity,
        [bool_or(names_class and not is_caught), bool_or(names_class)] as names_class,
        [bool_or(names_protocol and not is_caught), bool_or(names_protocol)] as names_protocol
    from own_errors
    group by all
),

read_errors as (
    select
        episode_id, reading, is_default, is_sensitivity, category, score, density, window_error_minimum,
        greatest(step_count, 1) as step_count,
        if(counts_caught_errors, 2, 1) as place,
        coalesce(interpreter_error_count, 0)
        + if(counts_cap_errors, coalesce(cap_error_count, 0), 0) as error_count,
        coalesce(window_interpreter_error_count, 0)
        + if(counts_cap_errors, coalesce(window_cap_error_count, 0), 0) as window_error_count,
        coalesce(counted_errors.names_capacity[place], false) as names_capacity,
        counts_class_probing and coalesce(counted_errors.names_class[place], false) as names_class,
        coalesce(counted_errors.names_protocol[place], false) as names_protocol
    from main.episodes
    cross join staging.failure_parameters
    left join staging.finish_signals using (finish_reason)
    left join counted_errors using (episode_id, window_step_count)
)

select
    episode_id, reading, is_default, is_sensitivity,
    case
        when (category is distinct from 'normal') then null
        when score >= 1 then 'optimal'
        when names_capacity then 'capacity_violation'
        when names_class then 'class_violation'
        when names_protocol then 'protocol_violation'
        when error_count / step_count > density or window_error_count >= window_error_minimum
            then 'execution_instability'
        when score < 1 then 'silent_suboptimality'
        else 'unclassified'
    end as failure_class
from read_errors
order by episode_id, reading
