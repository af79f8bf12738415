-- evaluation instances that some condition of a comparison played and another did not; pairs would be lost in silence
-- the conditions are those that have rows: plan_instance_counts sees one that has none
-- a failed episode counts as played: Table 6 shows it, and the next start plays it again
with played as (
    select distinct
        episodes.plan_digest,
        episodes.variant,
        episodes.base,
        episodes.visibility,
        episodes.header,
        episodes.bucket,
        episodes.instance_id,
        coalesce(episodes.train_contract, 'none')
        || ' -> ' || episodes.runtime_contract
        || coalesce(' seed ' || episodes.training_seed, '')
        || ' replicate ' || episodes.replicate as condition
    from staging.plan_episodes as episodes
    where episodes.purpose = 'evaluation'
    and episodes.backend <> 'imported'
),

conditions as (
    select distinct * exclude (instance_id)
    from played
),

-- arms of one comparison share plan, variant, base, visibility, header and bucket, so they share instances
wanted as (
    select distinct
        played.plan_digest,
        played.variant,
        played.base,
        played.visibility,
        played.header,
        played.bucket,
        played.instance_id,
        conditions.condition
    from played
    inner join conditions
        on played.plan_digest = conditions.plan_digest
        and played.variant = conditions.variant
        and played.base = conditions.base
        and played.visibility = conditions.visibility
        and played.header = conditions.header
        and played.bucket = conditions.bucket
)

select
    wanted.instance_id,
    wanted.plan_digest,
    wanted.variant,
    wanted.base,
    wanted.visibility,
    wanted.header,
    wanted.bucket,
    wanted.condition as missing_condition
from wanted
anti join played
    on wanted.plan_digest = played.plan_digest
    and wanted.variant = played.variant
    and wanted.base = played.base
    and wanted.visibility = played.visibility
    and wanted.header = played.header
    and wanted.bucket = played.bucket
    and wanted.instance_id = played.instance_id
    and wanted.condition = played.condition
order by instance_id, plan_digest, variant, base, visibility, header, bucket, missing_condition
