-- one row per episode and reading of the behaviour metrics (arXiv 2603.01209, appendix F), from the recorded name events
with bound_names as (
    select distinct
        name_events.episode_id,
        name_events.name
    from main.name_events
    where name_events.kind = 'bind'
),

scopes as (
    select distinct metric_parameters.scope
    from staging.metric_parameters
),

user_name_steps as (
    select
        name_events.episode_id,
        scopes.scope,
        name_events.name,
        name_events.step,
        count(*) filter (name_events.kind = 'bind') as bind_count,
        count(*) filter (name_events.kind = 'bind' and name_events.is_live_before) as live_bind_count,
        bool_or(name_events.is_live_before) as is_live_before,
        -- a function's body runs when it is called, so its reads come first only where the step binds nothing
        count(*) filter (name_events.kind = 'read') > 0 and (
            count(*) filter (name_events.kind = 'bind') = 0
            or coalesce(
                min(name_events.sequence) filter (name_events.kind = 'read' and not name_events.is_deferred)
                < min(name_events.sequence) filter (name_events.kind = 'bind'),
                false
            )
        ) as is_read_first
    from main.name_events
    inner join bound_names
        on name_events.episode_id = bound_names.episode_id
        and name_events.name = bound_names.name
    inner join scopes
        on scopes.scope = 'all'
        or not name_events.is_deferred
    where name_events.kind in ('bind', 'read')
    group by name_events.episode_id, scopes.scope, name_events.name, name_events.step
),

dated_name_steps as (
    select
        user_name_steps.*,
        user_name_steps.step - max(case when user_name_steps.bind_count > 0 then user_name_steps.step end) over (
            partition by user_name_steps.episode_id, user_name_steps.scope, user_name_steps.name
            order by user_name_steps.step
            rows between unbounded preceding and 1 preceding
        ) as steps_since_bound
    from user_name_steps
),

name_lives as (
    select
        dated_name_steps.episode_id,
        dated_name_steps.scope,
        dated_name_steps.name,
        max(dated_name_steps.step) - min(dated_name_steps.step) as step_span,
        cast(sum(dated_name_steps.live_bind_count) as bigint) as redefinition_site_count,
        count(*) filter (dated_name_steps.live_bind_count > 0) as redefined_name_count,
        list({'gap': dated_name_steps.steps_since_bound, 'is_live': dated_name_steps.is_live_before}) filter (
            dated_name_steps.is_read_first and dated_name_steps.steps_since_bound is not null
        ) as uses
    from dated_name_steps
    group by dated_name_steps.episode_id, dated_name_steps.scope, dated_name_steps.name
),

live_names as (
    select
        steps.episode_id,
        unnest(steps.active_globals) as name
    from main.steps
    where len(steps.active_globals) > 0
),

counted_live_steps as (
    select
        live_names.episode_id,
        live_names.name,
        count(*) as live_step_count
    from live_names
    group by live_names.episode_id, live_names.name
),

read_names as (
    select
        name_lives.episode_id,
        metric_parameters.reading,
        count(*) as user_name_count,
        avg(name_lives.step_span + metric_parameters.plus_one) as context_lifespan,
        avg(coalesce(counted_live_steps.live_step_count, 0)) as interpreter_lifespan,
        cast(sum(coalesce(len(list_filter(
            name_lives.uses,
            lambda used: used.gap >= metric_parameters.gap and (used.is_live or not metric_parameters.requires_live)
        )), 0)) as bigint) as state_utilization,
        cast(sum(case metric_parameters.redefinition_unit
            when 'sites' then name_lives.redefinition_site_count
            else name_lives.redefined_name_count
        end) as bigint) as redefinition_count
    from name_lives
    inner join staging.metric_parameters on name_lives.scope = metric_parameters.scope
    left join counted_live_steps
        on name_lives.episode_id = counted_live_steps.episode_id
        and name_lives.name = counted_live_steps.name
    group by name_lives.episode_id, metric_parameters.reading
),

counted_steps as (
    select
        steps.episode_id,
        count(*) as step_count,
        cast(sum(steps.import_count) as bigint) as import_count,
        count(*) filter (not steps.is_parsed) as unparsed_step_count,
        max(len(steps.active_globals)) as state_footprint
    from main.steps
    group by steps.episode_id
),

final as (
    select
        episodes.episode_id,
        metric_parameters.reading,
        metric_parameters.is_default,
        coalesce(counted_steps.unparsed_step_count, 0) as unparsed_step_count,
        coalesce(counted_steps.import_count, 0) as import_count,
        coalesce(counted_steps.state_footprint, 0) as state_footprint,
        coalesce(read_names.user_name_count, 0) as user_name_count,
        read_names.context_lifespan,
        coalesce(read_names.interpreter_lifespan, 0) as interpreter_lifespan,
        counted_steps.import_count / counted_steps.step_count as imports_per_step,
        coalesce(read_names.state_utilization, 0) as state_utilization,
        coalesce(read_names.redefinition_count, 0) / counted_steps.step_count as redefinitions_per_step
    from main.episodes
    cross join staging.metric_parameters
    left join counted_steps on episodes.episode_id = counted_steps.episode_id
    left join read_names
        on episodes.episode_id = read_names.episode_id
        and metric_parameters.reading = read_names.reading
)

select * from final
order by episode_id, reading
