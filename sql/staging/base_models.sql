-- one row per plan and base at the paper's scale: the model that its adapters sit on, by the name that heads our column
with parts as (
    select distinct
        runs.plan_digest,
        unnest(from_json(if(json_valid(runs.plan_json), runs.plan_json -> '$.parts', null), '["json"]')) as part
    from main.runs
    where runs.scale = 'paper'
),

named_models as (
    select distinct
        parts.plan_digest,
        parts.part ->> '$.base' as base,
        parts.part ->> '$.training.base_model' as base_model
    from parts
)

select
    plan_digest, base,
    string_agg(
        case
            -- arXiv 2603.01209, section 4.1: by its hub id, as the hub's cache keeps it, or a folder of that name
            when regexp_matches(
                named_models.base_model, '^(Qwen/|/(.*(/|--Qwen--))?)Qwen3-8B(/snapshots/[0-9a-f]+)?/?$'
            )
                then 'Qwen3-8B'
            when starts_with(named_models.base_model, '/')
                then regexp_extract(named_models.base_model, '([^/]+)/*$', 1)
            else named_models.base_model
        end,
        ' and '
        order by named_models.base_model
    ) as model
from named_models
where named_models.base_model is not null
group by named_models.plan_digest, named_models.base
order by plan_digest, base
