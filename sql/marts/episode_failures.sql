-- one row per episode and reading of the failure classes (arXiv 2603.01209, appendix D.3); the first match decides
with windows as (
    select distinct failure_parameters.window_step_count
    from staging.failure_parameters
),

own_errors as (
    select
        errors.episode_id,
        errors.step,
        errors.kind,
        errors.is_caught,
        lower(errors.message) as message
    from main.errors
    where not errors.is_injected
),

counted_errors as (
    select
        own_errors.episode_id,
        windows.window_step_count,
        count(*) filter (own_errors.kind = 'interpreter' and not own_errors.is_caught) as interpreter_error_count,
        count(*) filter (own_errors.kind = 'cap' and not own_errors.is_caught) as cap_error_count,
        count(*) filter (
            own_errors.kind = 'interpreter'
            and not own_errors.is_caught
            and own_errors.step > episodes.step_count - windows.window_step_count
        ) as window_interpreter_error_count,
        count(*) filter (
            own_errors.kind = 'cap'
            and not own_errors.is_caught
            and own_errors.step > episodes.step_count - windows.window_step_count
        ) as window_cap_error_count,
        -- [uncaught only, caught ones too]
        [
            coalesce(
                bool_or(contains(own_errors.message, 'exceeds capacity')) filter (not own_errors.is_caught), false
            ),
            bool_or(contains(own_errors.message, 'exceeds capacity'))
        ] as names_capacity,
        [
            coalesce(
                bool_or(contains(own_errors.message, 'disallowed class')) filter (not own_errors.is_caught), false
            ),
            bool_or(contains(own_errors.message, 'disallowed class'))
        ] as names_class,
        [
            coalesce(
                bool_or(
                    contains(own_errors.message, 'must be inspected') or contains(own_errors.message, 'already taken')
                ) filter (not own_errors.is_caught),
                false
            ),
            bool_or(contains(own_errors.message, 'must be inspected') or contains(own_errors.message, 'already taken'))
        ] as names_protocol
    from own_errors
    inner join main.episodes on own_errors.episode_id = episodes.episode_id
    cross join windows
    group by own_errors.episode_id, windows.window_step_count
),

read_errors as (
    select
        episodes.episode_id,
        failure_parameters.reading,
        failure_parameters.is_default,
        failure_parameters.is_sensitivity,
        finish_signals.category,
        episodes.score,
        greatest(episodes.step_count, 1) as step_count,
        failure_parameters.density,
        failure_parameters.window_error_minimum,
        coalesce(counted_errors.interpreter_error_count, 0)
        + if(failure_parameters.counts_cap_errors, coalesce(counted_errors.cap_error_count, 0), 0) as error_count,
        coalesce(counted_errors.window_interpreter_error_count, 0)
        + if(failure_parameters.counts_cap_errors, coalesce(counted_errors.window_cap_error_count, 0), 0)
            as window_error_count,
        coalesce(counted_errors.names_capacity[if(failure_parameters.counts_caught_errors, 2, 1)], false)
            as names_capacity,
        failure_parameters.counts_class_probing
        and coalesce(counted_errors.names_class[if(failure_parameters.counts_caught_errors, 2, 1)], false)
            as names_class,
        coalesce(counted_errors.names_protocol[if(failure_parameters.counts_caught_errors, 2, 1)], false)
            as names_protocol
    from main.episodes
    cross join staging.failure_parameters
    left join staging.finish_signals on episodes.finish_reason = finish_signals.finish_reason
    left join counted_errors
        on episodes.episode_id = counted_errors.episode_id
        and failure_parameters.window_step_count = counted_errors.window_step_count
),

final as (
    select
        read_errors.episode_id,
        read_errors.reading,
        read_errors.is_default,
        read_errors.is_sensitivity,
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
)

select * from final
order by episode_id, reading
