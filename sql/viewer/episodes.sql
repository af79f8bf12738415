-- One row per counted episode of a plan with what the viewer filters by; instances are numbered by seed, from 1, and
-- by name where none was landed.
with numbered_instances as (
    select
        instance_id, bucket, split,
        row_number() over (partition by bucket, split order by seed, instance_id) as instance_number
    from instances
),

unknown_instances as (
    select
        purpose, bucket, split, instance_id,
        row_number() over (partition by purpose, bucket, split order by instance_id) as instance_number
    from (
        select distinct purpose, bucket, split, instance_id
        from marts.episode_metrics
        anti join numbered_instances using (instance_id, bucket, split)
        where plan_digest = $plan_digest and is_counted
    ) as unknown
)

select
    episode_id, condition, purpose, model, variant, base, visibility, header, bucket, instance_id,
    coalesce(numbered_instances.instance_number, unknown_instances.instance_number) as instance_number,
    training_seed, replicate, finish_reason, failure_class,
    nullif(concat_ws(
        ' ',
        if(interpreter_error_count > 0, 'interpreter', null),
        if(tool_error_count > 0, 'tool', null),
        if(cap_error_count > 0, 'cap', null),
        if(protocol_error_count > 0, 'protocol', null),
        if(model_error_count > 0, 'model', null)
    ), '') as error_kinds,
    missing_name_count, score, total_tokens, turn_count, step_count, context_lifespan, interpreter_lifespan
from marts.episode_metrics
left join numbered_instances using (instance_id, bucket, split)
left join unknown_instances using (instance_id, bucket, split, purpose)
where plan_digest = $plan_digest and is_counted
order by
    purpose, variant <> 'main', variant, base, bucket, visibility desc, header desc, instance_number, training_seed,
    replicate, condition
