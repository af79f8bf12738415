-- one row per episode and reading of the behaviour metrics (arXiv 2603.01209, appendix F), from recorded name events
with scopes as (
    select distinct metric_parameters.scope
    from staging.metric_parameters
),

-- what a step does with a name, for both scopes at once: `module` leaves out what stands in function bodies
name_steps as (
    select
        episode_id, name, step,
        bool_or(name_events.is_live_before) as is_live_before,
        count(*) filter (not name_events.is_deferred) as module_event_count,
        count(*) filter (name_events.kind = 'bind') as bind_count,
        count(*) filter (name_events.kind = 'bind' and not name_events.is_deferred) as module_bind_count,
        count(*) filter (name_events.kind = 'read') as read_count,
        min(name_events.sequence) filter (name_events.kind = 'read' and not name_events.is_deferred)
            as first_module_read,
        min(name_events.sequence) filter (name_events.kind = 'bind') as first_bind,
        min(name_events.sequence) filter (name_events.kind = 'bind' and not name_events.is_deferred)
            as first_module_bind
    from main.name_events
    where name_events.kind in ('bind', 'read')
    group by name_events.episode_id, name_events.name, name_events.step
),

scoped_steps as (
    select
        name_steps.episode_id, scopes.scope, name_steps.name, name_steps.step, name_steps.is_live_before,
        name_steps.bind_count as any_bind_count,
        if(scopes.scope = 'all', name_steps.bind_count, name_steps.module_bind_count) as bind_count,
        -- a function's body runs when it is called, so its reads come first only where the step binds nothing
        case scopes.scope
            when 'all' then
                coalesce(name_steps.first_module_read < name_steps.first_bind, false)
                or (name_steps.bind_count = 0 and name_steps.read_count > 0)
            else
                name_steps.first_module_read < coalesce(name_steps.first_module_bind, 1 + name_steps.first_module_read)
        end as is_read_first
    from name_steps
    inner join scopes
        on scopes.scope = 'all'
        or name_steps.module_event_count > 0
),

dated_steps as (
    select
        scoped_steps.*,
        scoped_steps.step - max(case when scoped_steps.bind_count > 0 then scoped_steps.step end) over (
            partition by scoped_steps.episode_id, scoped_steps.scope, scoped_steps.name
            order by scoped_steps.step
            rows between unbounded preceding and 1 preceding
        ) as steps_since_bound
    from scoped_steps
),

kept_uses as (
    select
        episode_id, scope, steps_since_bound, is_live_before,
        count(*) as use_count
    from dated_steps
    where dated_steps.is_read_first
        and dated_steps.steps_since_bound is not null
    group by dated_steps.episode_id, dated_steps.scope, dated_steps.steps_since_bound, dated_steps.is_live_before
),

counted_uses as (
    select
        kept_uses.episode_id, metric_parameters.reading,
        cast(sum(kept_uses.use_count) as bigint) as state_utilization
    from kept_uses
    inner join staging.metric_parameters
        on kept_uses.scope = metric_parameters.scope
        and kept_uses.steps_since_bound >= metric_parameters.gap
        and (kept_uses.is_live_before or not metric_parameters.requires_live)
    group by kept_uses.episode_id, metric_parameters.reading
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
        episode_id, name,
        count(*) as live_step_count
    from live_names
    group by live_names.episode_id, live_names.name
),

-- user names only: those that the episode binds somewhere
name_lives as (
    select
        episode_id, scope, name,
        max(dated_steps.step) - min(dated_steps.step) as step_span,
        sum(dated_steps.bind_count) filter (dated_steps.is_live_before) as redefinition_site_count,
        count(*) filter (dated_steps.is_live_before and dated_steps.bind_count > 0) as redefined_name_count
    from dated_steps
    group by dated_steps.episode_id, dated_steps.scope, dated_steps.name
    having sum(dated_steps.any_bind_count) > 0
),

episode_lives as (
    select
        name_lives.episode_id, name_lives.scope,
        count(*) as user_name_count,
        avg(name_lives.step_span) as mean_step_span,
        avg(coalesce(counted_live_steps.live_step_count, 0)) as interpreter_lifespan,
        cast(sum(name_lives.redefinition_site_count) as bigint) as redefinition_site_count,
        cast(sum(name_lives.redefined_name_count) as bigint) as redefined_name_count
    from name_lives
    left join counted_live_steps using (episode_id, name)
    group by name_lives.episode_id, name_lives.scope
),

counted_steps as (
    select
        steps.episode_id,
        count(*) as step_count,
        cast(sum(steps.import_count) as bigint) as import_count,
        count(*) filter (not steps.is_parsed) as unparsed_step_count,
        max(len(steps.active_globals)) as state_footprint,
        -- imported traces may not hold what was alive after a step; before the first one nothing is
        bool_or(steps.state_event = 'unknown') as lacks_names_after,
        coalesce(min(steps.step) filter (steps.state_event = 'unknown') < max(steps.step), false) as lacks_names_before
    from main.steps
    group by steps.episode_id
)

select
    episodes.episode_id, metric_parameters.reading, metric_parameters.is_default,
    coalesce(counted_steps.unparsed_step_count, 0) as unparsed_step_count,
    coalesce(counted_steps.import_count, 0) as import_count,
    if(counted_steps.lacks_names_after, null, coalesce(counted_steps.state_footprint, 0)) as state_footprint,
    coalesce(episode_lives.user_name_count, 0) as user_name_count,
    -- both lifespans are means over the same names, and their means over the same episodes
    coalesce(
        episode_lives.mean_step_span + metric_parameters.plus_one, if(metric_parameters.counts_nameless, 0, null)
    ) as context_lifespan,
    if(
        counted_steps.lacks_names_after,
        null,
        coalesce(episode_lives.interpreter_lifespan, if(metric_parameters.counts_nameless, 0, null))
    ) as interpreter_lifespan,
    counted_steps.import_count / counted_steps.step_count as imports_per_step,
    if(
        counted_steps.lacks_names_before and metric_parameters.requires_live,
        null,
        coalesce(counted_uses.state_utilization, 0)
    ) as state_utilization,
    if(
        counted_steps.lacks_names_before,
        null,
        coalesce(
            case metric_parameters.redefinition_unit
                when 'sites' then episode_lives.redefinition_site_count
                else episode_lives.redefined_name_count
            end,
            0
        ) / counted_steps.step_count
    ) as redefinitions_per_step
from main.episodes
cross join staging.metric_parameters
left join counted_steps on episodes.episode_id = counted_steps.episode_id
left join episode_lives
    on episodes.episode_id = episode_lives.episode_id
    and metric_parameters.scope = episode_lives.scope
left join counted_uses
    on episodes.episode_id = counted_uses.episode_id
    and metric_parameters.reading = counted_uses.reading
order by episode_id, reading
