-- Lifetimes: every model under every lifetime of a name, in blocks (0: stateless, all: persistent), beside the scripts
with lifetimes as (
    select
        episode_metrics.runtime_contract as contract,
        -- kept results hold names alone; a contract of one's own is described by its definition
        coalesce(
            any_value(episodes.contract_json ->> '$.contract.lifetime'),
            case episode_metrics.runtime_contract
                when 'stateless' then 'block'
                when 'persistent' then 'episode'
                else nullif(replace(regexp_extract(episode_metrics.runtime_contract, '^recent-\d+$'), '-', ':'), '')
            end
        ) as lifetime
    from marts.episode_metrics
    left join main.episodes using (episode_id)
    where episode_metrics.plan_digest = $plan_digest
    group by episode_metrics.runtime_contract
),

counted_lifetimes as (
    select
        contract,
        case lifetime
            when 'block' then '0'
            when 'episode' then 'all'
            else regexp_extract(lifetime, '^recent:(\d+)$', 1)
        end as blocks
    from lifetimes
    where lifetime in ('block', 'episode') or lifetime like 'recent:%'
),

cells as (
    select
        evaluated_cells.*,
        trained.blocks as trained_blocks,
        played.blocks as played_blocks
    from marts.evaluated_cells
    inner join counted_lifetimes as trained on evaluated_cells.train_contract = trained.contract
    inner join counted_lifetimes as played on evaluated_cells.runtime_contract = played.contract
    where evaluated_cells.plan_digest = $plan_digest
        and exists (select 1 from lifetimes where lifetimes.lifetime like 'recent:%')
)

select
    trained.measured_on, trained.variant, trained.base, trained.visibility, trained.header, trained.bucket,
    trained.trained_blocks, trained.played_blocks, trained.condition,
    trained.seed_count, trained.episode_count, trained.ended_count,
    trained.missing_name_episode_pct,
    trained.widest_missing_name_episode_pct_low,
    trained.widest_missing_name_episode_pct_high,
    trained.missing_names_per_episode,
    trained.widest_missing_names_per_episode_low,
    trained.widest_missing_names_per_episode_high,
    script.missing_names_per_episode as script_missing_names,
    trained.mean_total_tokens,
    trained.widest_mean_total_tokens_low,
    trained.widest_mean_total_tokens_high,
    script.mean_total_tokens as script_tokens,
    trained.mean_total_tokens
    / max(trained.mean_total_tokens) filter (trained.trained_blocks = trained.played_blocks) over of_model
        as ratio_to_home,
    trained.score_pct
from cells as trained
left join cells as script
    on (trained.variant, trained.visibility, trained.header, trained.bucket, trained.condition)
    = (script.variant, script.visibility, script.header, script.bucket, script.condition)
    and script.base = 'teacher'
where trained.base <> 'teacher'
window of_model as (
    partition by
        trained.variant, trained.base, trained.visibility, trained.header, trained.bucket, trained.trained_blocks
)
order by
    trained.variant, trained.base, trained.visibility desc, trained.header desc, trained.bucket,
    try_cast(trained.trained_blocks as integer) nulls last, try_cast(trained.played_blocks as integer) nulls last
