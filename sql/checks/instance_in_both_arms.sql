-- instances that teachers solved under one contract of a plan but not under the other, so that no pair can be formed
-- the conditions are those that have rows: plan_instance_counts sees one that has none
with played as (
    select distinct
        episodes.plan_digest,
        episodes.variant,
        episodes.bucket,
        episodes.split,
        episodes.instance_id,
        episodes.replicate,
        episodes.runtime_contract
    from staging.plan_episodes as episodes
    where episodes.purpose = 'teacher'
    and episodes.backend <> 'imported'
),

contracts as (
    select distinct
        played.plan_digest,
        played.variant,
        played.bucket,
        played.split,
        played.runtime_contract
    from played
)

select
    instance_arms.instance_id,
    instance_arms.replicate,
    instance_arms.plan_digest,
    instance_arms.variant,
    contracts.runtime_contract as missing_contract
from (
    select distinct * exclude (runtime_contract)
    from played
) as instance_arms
inner join contracts
    on instance_arms.plan_digest = contracts.plan_digest
    and instance_arms.variant = contracts.variant
    and instance_arms.bucket = contracts.bucket
    and instance_arms.split = contracts.split
anti join played
    on instance_arms.plan_digest = played.plan_digest
    and instance_arms.variant = played.variant
    and instance_arms.bucket = played.bucket
    and instance_arms.split = played.split
    and instance_arms.instance_id = played.instance_id
    and instance_arms.replicate = played.replicate
    and contracts.runtime_contract = played.runtime_contract
order by instance_id, replicate, plan_digest, variant, missing_contract
