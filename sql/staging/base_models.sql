-- one row per plan and base with a model of the hub or a folder: the model, by the name that heads our column
with named_models as (
    select distinct
        plan_digest,
        part ->> '$.base' as base,
        part ->> '$.training.base_model' as base_model,
        part ->> '$.training.base_title' as base_title
    from main.runs
    cross join unnest(from_json(if(json_valid(plan_json), plan_json -> '$.parts', null), '["json"]')) as parts (part)
    where scale in ('paper', 'pretrained')
)

select
    plan_digest, base,
    string_agg(
        case
            -- weights that were dequantized from a file say so
            when base_title is not null then base_title
            -- arXiv 2603.01209, section 4.1: by its hub id, as the hub's cache keeps it, or a folder of that name
            when regexp_matches(base_model, '^(Qwen/|/(.*(/|--Qwen--))?)Qwen3-8B(/snapshots/[0-9a-f]+)?/?$')
                then 'Qwen3-8B'
            when starts_with(base_model, '/') then regexp_extract(base_model, '([^/]+)/*$', 1)
            else base_model
        end,
        ' and '
        order by base_model
    ) as model
from named_models
where base_model is not null
group by all
order by plan_digest, base
