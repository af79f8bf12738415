-- conditions that played other instances than their plan says: too few, none at all, too many, one twice, or unplanned
-- those of a purpose count once any of its conditions has played
with parts as (
    select distinct
        runs.plan_digest,
        unnest(from_json(if(json_valid(runs.plan_json), runs.plan_json -> '$.parts', null), '["json"]')) as part
    from main.runs
),

evaluations as (
    select
        parts.plan_digest,
        parts.part,
        unnest(from_json(parts.part -> '$.evaluations', '["json"]')) as evaluation
    from parts
),

contracts as (
    select
        parts.plan_digest,
        parts.part,
        unnest(from_json(parts.part -> '$.teacher.contracts', '["varchar"]')) as contract
    from parts
),

-- who may play an evaluation, with the field of it that says whether they do, and what it says where it is silent
players as (
    select
        contracts.plan_digest,
        contracts.part,
        contracts.part ->> '$.base' as base,
        contracts.contract as train_contract,
        unnest(from_json(contracts.part -> '$.training_seeds', '["bigint"]')) as training_seed,
        '$.has_trained_rows' as field,
        true as is_default
    from contracts
    union all by name
    select
        parts.plan_digest,
        parts.part,
        parts.part ->> '$.base' as base,
        '$.has_base_rows' as field,
        true as is_default
    from parts
    union all by name
    select
        parts.plan_digest,
        parts.part,
        'teacher' as base,
        '$.has_scripted_rows' as field,
        false as is_default
    from parts
),

planned_sets as (
    select
        contracts.plan_digest,
        'teacher' as purpose,
        contracts.part ->> '$.variant' as variant,
        'teacher' as base,
        null as train_contract,
        null as training_seed,
        contracts.contract as runtime_contract,
        'declared' as visibility,
        'names' as header,
        1 as replicate_count,
        contracts.part -> '$.train_instances' as instances
    from contracts
    union all by name
    select
        evaluations.plan_digest,
        'evaluation' as purpose,
        coalesce(evaluations.evaluation ->> '$.variant', evaluations.part ->> '$.variant') as variant,
        players.base,
        players.train_contract,
        players.training_seed,
        runtimes.runtime_contract,
        coalesce(evaluations.evaluation ->> '$.visibility', 'declared') as visibility,
        coalesce(evaluations.evaluation ->> '$.header', 'names') as header,
        coalesce((evaluations.evaluation ->> '$.replicates')::bigint, 1) as replicate_count,
        evaluations.evaluation -> '$.instances' as instances
    from evaluations
    inner join players
        on evaluations.plan_digest = players.plan_digest
        and evaluations.part = players.part
        and coalesce((evaluations.evaluation ->> players.field)::boolean, players.is_default)
    cross join (values ('persistent'), ('stateless')) as runtimes (runtime_contract)
),

planned_seeds as (
    select
        planned_sets.* exclude (replicate_count, instances),
        planned_sets.instances ->> '$.bucket' as bucket,
        replicates.replicate,
        unnest(range((planned_sets.instances ->> '$.count')::bigint))
        + coalesce((planned_sets.instances ->> '$.first_seed')::bigint, 0) as seed
    from planned_sets
    cross join lateral (select unnest(range(planned_sets.replicate_count)) as replicate) as replicates
),

-- parts may share a condition; together they play every instance that one of them names
wanted as (
    select
        planned_seeds.* exclude (seed),
        count(distinct planned_seeds.seed) as planned_count
    from planned_seeds
    group by all
),

-- a failed episode counts: Table 6 shows it, and the next start plays it again
played as (
    select
        episodes.plan_digest,
        episodes.purpose,
        episodes.variant,
        episodes.base,
        episodes.train_contract,
        episodes.training_seed,
        episodes.runtime_contract,
        episodes.visibility,
        episodes.header,
        episodes.bucket,
        episodes.replicate,
        count(distinct episodes.instance_id) as played_count,
        count(*) filter (episodes.finish_reason <> 'error') as ended_count
    from main.episodes
    -- a study played again lands under a variant of its own, of which the plan says nothing
    semi join wanted
        on episodes.plan_digest = wanted.plan_digest
        and episodes.purpose = wanted.purpose
        and episodes.variant = wanted.variant
    group by all
),

begun as (
    select distinct
        episodes.plan_digest,
        episodes.purpose
    from main.episodes
),

compared as (
    select
        coalesce(wanted.plan_digest, played.plan_digest) as plan_digest,
        coalesce(wanted.purpose, played.purpose) as purpose,
        coalesce(wanted.variant, played.variant) as variant,
        coalesce(wanted.base, played.base) as base,
        coalesce(wanted.train_contract, played.train_contract) as train_contract,
        coalesce(wanted.training_seed, played.training_seed) as training_seed,
        coalesce(wanted.runtime_contract, played.runtime_contract) as runtime_contract,
        coalesce(wanted.visibility, played.visibility) as visibility,
        coalesce(wanted.header, played.header) as header,
        coalesce(wanted.bucket, played.bucket) as bucket,
        coalesce(wanted.replicate, played.replicate) as replicate,
        coalesce(wanted.planned_count, 0) as planned_count,
        coalesce(played.played_count, 0) as played_count,
        coalesce(played.ended_count, 0) as ended_count
    from wanted
    full join played
        on wanted.plan_digest = played.plan_digest
        and wanted.purpose = played.purpose
        and wanted.variant = played.variant
        and wanted.base = played.base
        and wanted.train_contract is not distinct from played.train_contract
        and wanted.training_seed is not distinct from played.training_seed
        and wanted.runtime_contract = played.runtime_contract
        and wanted.visibility = played.visibility
        and wanted.header = played.header
        and wanted.bucket = played.bucket
        and wanted.replicate = played.replicate
),

final as (
    select compared.*
    from compared
    semi join begun
        on compared.plan_digest = begun.plan_digest
        and compared.purpose = begun.purpose
    where compared.played_count <> compared.planned_count
        or compared.ended_count > compared.planned_count
)

select * from final
order by
    plan_digest, purpose, variant, base, train_contract, training_seed, runtime_contract, visibility, header, bucket,
    replicate
