-- one row per episode and reading of the behaviour metrics (arXiv 2603.01209, appendix F), from recorded name events
with name_steps as (
    -- what a step does with a name, for both scopes at once: `module` leaves out what stands in function bodies
    select
        episode_id, name, step,
        bool_or(is_live_before) as is_live_before,
        count(*) filter (not is_deferred) as module_event_count,
        count(*) filter (kind = 'bind') as bind_count,
        count(*) filter (kind = 'bind' and not is_deferred) as module_bind_count,
        count(*) filter (kind = 'read') as read_count,
        min(sequence) filter (kind = 'read' and not is_deferred) as first_module_read,
        min(sequence) filter (kind = 'bind') as first_bind,
        min(sequence) filter (kind = 'bind' and not is_deferred) as first_module_bind
    from main.name_events
    where kind in ('bind', 'read')
    group by all
),

scoped_steps as (
    select
        episode_id, scope, name, step, is_live_before,
        name_steps.bind_count as any_bind_count,
        if(scope = 'all', name_steps.bind_count, module_bind_count) as bind_count,
        -- a function's body runs when it is called, so its reads come first only where the step binds nothing
        if(
            scope = 'all',
            coalesce(first_module_read < first_bind, false) or (name_steps.bind_count = 0 and read_count > 0),
            first_module_read < coalesce(first_module_bind, 1 + first_module_read)
        ) as is_read_first
    from name_steps
    inner join (select distinct scope from staging.metric_parameters) as scopes
        on scope = 'all' or module_event_count > 0
),

dated_steps as (
    select
        scoped_steps.*,
        step - max(step) filter (bind_count > 0) over (
            partition by episode_id, scope, name
            order by step
            rows between unbounded preceding and 1 preceding
        ) as steps_since_bound
    from scoped_steps
),

kept_uses as (
    select
        episode_id, scope, steps_since_bound, is_live_before,
        count(*) as use_count
    from dated_steps
    where is_read_first and steps_since_bound is not null
    group by all
),

counted_uses as (
    select
        episode_id, reading,
        cast(sum(use_count) as bigint) as state_utilization
    from kept_uses
    inner join staging.metric_parameters using (scope)
    where steps_since_bound >= gap and (is_live_before or not requires_live)
    group by all
),

counted_live_steps as (
    select
        episode_id, name,
        count(*) as live_step_count
    from (select episode_id, unnest(active_globals) as name from main.steps) as live_names
    group by all
),

-- user names only: those that the episode binds somewhere
name_lives as (
    select
        episode_id, scope, name,
        max(step) - min(step) as step_span,
        sum(bind_count) filter (is_live_before) as redefinition_site_count,
        count(*) filter (is_live_before and bind_count > 0) as redefined_name_count
    from dated_steps
    group by all
    having sum(any_bind_count) > 0
),

episode_lives as (
    select
        episode_id, scope,
        count(*) as user_name_count,
        avg(step_span) as mean_step_span,
        avg(coalesce(live_step_count, 0)) as interpreter_lifespan,
        cast(sum(redefinition_site_count) as bigint) as redefinition_site_count,
        cast(sum(redefined_name_count) as bigint) as redefined_name_count
    from name_lives
    left join counted_live_steps using (episode_id, name)
    group by all
),

counted_steps as (
    select
        episode_id,
        count(*) as step_count,
        cast(sum(import_count) as bigint) as import_count,
        count(*) filter (not is_parsed) as unparsed_step_count,
        max(len(active_globals)) as state_footprint,
        -- imported traces may not hold what was alive after a step; before the first one nothing is
        bool_or(state_event = 'unknown') as lacks_names_after,
        coalesce(min(step) filter (state_event = 'unknown') < max(step), false) as lacks_names_before
    from main.steps
    group by all
)

select
    episode_id, reading, is_default,
    coalesce(unparsed_step_count, 0) as unparsed_step_count,
    coalesce(counted_steps.import_count, 0) as import_count,
    if(lacks_names_after, null, coalesce(counted_steps.state_footprint, 0)) as state_footprint,
    coalesce(user_name_count, 0) as user_name_count,
    -- both lifespans are means over the same names, and their means over the same episodes
    coalesce(mean_step_span + plus_one, if(counts_nameless, 0, null)) as context_lifespan,
    if(lacks_names_after, null, coalesce(episode_lives.interpreter_lifespan, if(counts_nameless, 0, null)))
        as interpreter_lifespan,
    counted_steps.import_count / counted_steps.step_count as imports_per_step,
    if(lacks_names_before and requires_live, null, coalesce(counted_uses.state_utilization, 0)) as state_utilization,
    if(
        lacks_names_before,
        null,
        coalesce(if(redefinition_unit = 'sites', redefinition_site_count, redefined_name_count), 0)
        / counted_steps.step_count
    ) as redefinitions_per_step
from main.episodes
cross join staging.metric_parameters
left join counted_steps using (episode_id)
left join episode_lives using (episode_id, scope)
left join counted_uses using (episode_id, reading)
order by episode_id, reading
