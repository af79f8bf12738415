-- one row per episode and reading of the failure classes (arXiv 2603.01209, appendix D.3); the first match decides
with windows as (
    select distinct failure_parameters.window_step_count
    from staging.failure_parameters
),

own_errors as (
    select
        errors.episode_id, errors.is_caught, windows.window_step_count,
        errors.kind = 'interpreter' and not errors.is_caught as is_interpreter_error,
        errors.kind = 'cap' and not errors.is_caught as is_cap_error,
        errors.step > episodes.step_count - windows.window_step_count as is_in_window,
        contains(lower(errors.message), 'exceeds capacity') as names_capacity,
        contains(lower(errors.message), 'disallowed class') as names_class,
        contains(lower(errors.message), 'must be inspected')
        or contains(lower(errors.message), 'already taken') as names_protocol
    from main.errors
    inner join main.episodes on errors.episode_id = episodes.episode_id
    cross join windows
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
    group by own_errors.episode_id, own_errors.window_step_count
),

read_errors as (
    select
        episodes.episode_id, failure_parameters.reading, failure_parameters.is_default,
        failure_parameters.is_sensitivity, finish_signals.category, episodes.score,
        greatest(episodes.step_count, 1) as step_count,
        failure_parameters.density, failure_parameters.window_error_minimum,
        if(failure_parameters.counts_caught_errors, 2, 1) as place,
        coalesce(counted_errors.interpreter_error_count, 0)
        + if(failure_parameters.counts_cap_errors, coalesce(counted_errors.cap_error_count, 0), 0) as error_count,
        coalesce(counted_errors.window_interpreter_error_count, 0)
        + if(failure_parameters.counts_cap_errors, coalesce(counted_errors.window_cap_error_count, 0), 0)
            as window_error_count,
        coalesce(counted_errors.names_capacity[place], false) as names_capacity,
        failure_parameters.counts_class_probing and coalesce(counted_errors.names_class[place], false) as names_class,
        coalesce(counted_errors.names_protocol[place], false) as names_protocol
    from main.episodes
    cross join staging.failure_parameters
    left join staging.finish_signals on episodes.finish_reason = finish_signals.finish_reason
    left join counted_errors
        on episodes.episode_id = counted_errors.episode_id
        and failure_parameters.window_step_count = counted_errors.window_step_count
)

select
    episode_id, reading, is_default, is_sensitivity,
    case
        when (read_errors.category is distinct from 'normal') then null
        when read_errors.score >= 1 then 'optimal'
        when read_errors.names_capacity then 'capacity_violation'
        when read_errors.names_class then 'class_violation'
        when read_errors.names_protocol then 'protocol_violation'
        when
            read_errors.error_count / read_errors.step_count > read_errors.density
            or read_errors.window_error_count >= read_errors.window_error_minimum
            then 'execution_instability'
        when read_errors.score < 1 then 'silent_suboptimality'
        else 'unclassified'
    end as failure_class
from read_errors
order by episode_id, reading
