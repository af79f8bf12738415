-- The script control: each trained cell beside its contract's scripted teacher on the same runtime, without a model
with played as (
    select
        variant, base, visibility, header, bucket, train_contract, runtime_contract, condition,
        instance_id, replicate, measured_on,
        score, total_tokens, step_count, missing_name_count, imports_per_step, state_utilization,
        cast(has_missing_name as integer) as has_missing_name
    from marts.episode_metrics
    where plan_digest = $plan_digest and purpose = 'evaluation' and is_counted and train_contract is not null
),

paired as (
    select
        trained,
        script
    from played as trained
    inner join played as script
        using (variant, visibility, header, bucket, train_contract, runtime_contract, instance_id, replicate)
    where trained.base <> 'teacher' and script.base = 'teacher'
),

means as (
    select
        trained.variant as variant,
        trained.base as base,
        trained.visibility as visibility,
        trained.header as header,
        trained.bucket as bucket,
        trained.measured_on as measured_on,
        trained.train_contract as train_a,
        trained.runtime_contract as runtime_a,
        trained.condition as condition,
        count(*) as pair_count,
        avg(
            cast(
                trained.step_count = script.step_count
                and trained.missing_name_count = script.missing_name_count
                and trained.score is not distinct from script.score as integer
            )
        ) * 100 as equal_pct,
        {
            'score': { 'trained': avg(trained.score), 'script': avg(script.score) },
            'total_tokens': { 'trained': avg(trained.total_tokens), 'script': avg(script.total_tokens) },
            'step_count': { 'trained': avg(trained.step_count), 'script': avg(script.step_count) },
            'missing_name_count': {
                'trained': avg(trained.missing_name_count), 'script': avg(script.missing_name_count)
            },
            'has_missing_name': { 'trained': avg(trained.has_missing_name), 'script': avg(script.has_missing_name) },
            'imports_per_step': { 'trained': avg(trained.imports_per_step), 'script': avg(script.imports_per_step) },
            'state_utilization': { 'trained': avg(trained.state_utilization), 'script': avg(script.state_utilization) }
        } as metrics
    from paired
    group by all
),

listed as (
    unpivot (select * exclude (metrics), unnest(metrics) from means)
    on score, total_tokens, step_count, missing_name_count, has_missing_name, imports_per_step, state_utilization
    into name metric value measured
),

-- the wider of the intervals: of resampled seeds and instances, and of Student's t over the seeds
differences as (
    select
        variant, base, visibility, header, bucket, train_a, runtime_a, metric,
        arg_max(low, high - low) as trained_minus_script_low,
        arg_max(high, high - low) as trained_minus_script_high
    from main.statistics
    where plan_digest = $plan_digest
        and analysis = 'trained_minus_script'
        and staging.is_main_interval(interval_kind)
    group by all
)

select
    variant, base, visibility, header, bucket, measured_on, condition, pair_count, equal_pct, metric,
    measured.trained as trained,
    measured.script as script,
    measured.trained - measured.script as trained_minus_script,
    trained_minus_script_low, trained_minus_script_high,
    -- nothing is a ratio to a P->P of 0, as of its missing names
    measured.trained / nullif(max(measured.trained) filter (condition = 'P->P') over of_setting, 0)
        as trained_ratio_to_p_on_p,
    measured.script / nullif(max(measured.script) filter (condition = 'P->P') over of_setting, 0)
        as script_ratio_to_p_on_p
from listed
left join differences using (variant, base, visibility, header, bucket, train_a, runtime_a, metric)
window of_setting as (partition by variant, base, visibility, header, bucket, measured_on, metric)
order by
    variant <> 'main', variant, staging.base_position(base) nulls last, bucket,
    visibility desc, header desc, condition, metric
