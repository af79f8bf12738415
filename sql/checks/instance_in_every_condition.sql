-- instances that some condition of a comparison played and another did not, be it of models or of teachers; pairs
-- would be lost in silence
-- the conditions are those that have rows: plan_instance_counts sees one that has none
-- a failed episode counts as played: Table 6 shows it, and the next start plays it again
with played as (
    select distinct
        plan_digest, purpose, instance_id, variant, base, visibility, header, bucket,
        coalesce(train_contract, 'none') || ' -> ' || runtime_contract || coalesce(' seed ' || training_seed, '')
        || ' replicate ' || replicate as condition
    from staging.plan_episodes
    where backend <> 'imported'
),

-- arms of one comparison share plan, purpose, variant, base, visibility, header and bucket, so they share instances
wanted as (
    select distinct played.* exclude (condition), conditions.condition
    from played
    inner join (select distinct * exclude (instance_id) from played) as conditions
        using (plan_digest, purpose, variant, base, visibility, header, bucket)
)

select
    instance_id, plan_digest, purpose, variant, base, visibility, header, bucket,
    condition as missing_condition
from wanted
anti join played using (instance_id, plan_digest, purpose, variant, base, visibility, header, bucket, condition)
order by all
