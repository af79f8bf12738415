-- instances that teachers solved under one contract of a plan but not under the other, so that no pair can be formed
-- the conditions are those that have rows: plan_instance_counts sees one that has none
with played as (
    select distinct columns(
        ['plan_digest', 'variant', 'bucket', 'split', 'instance_id', 'replicate', 'runtime_contract']
    )
    from staging.plan_episodes
    where plan_episodes.purpose = 'teacher'
        and plan_episodes.backend <> 'imported'
),

contracts as (
    select distinct * exclude (instance_id, replicate) from played
),

wanted as (
    select distinct
        played.* exclude (runtime_contract),
        contracts.runtime_contract
    from played
    inner join contracts using (plan_digest, variant, bucket, split)
)

select
    wanted.instance_id,
    wanted.replicate,
    wanted.plan_digest,
    wanted.variant,
    wanted.runtime_contract as missing_contract
from wanted
anti join played using (plan_digest, variant, bucket, split, instance_id, replicate, runtime_contract)
order by instance_id, replicate, plan_digest, variant, missing_contract
