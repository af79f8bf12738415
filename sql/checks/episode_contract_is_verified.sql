-- episodes whose interpreter was not shown by a canary to keep bindings as its contract says, though it ran blocks; foreign traces have none
with final as (
    select
        episodes.episode_id,
        episodes.runtime_contract,
        episodes.backend,
        episodes.sandbox_level
    from main.episodes
    where episodes.backend <> 'imported'
    and episodes.step_count > 0
    and not episodes.is_contract_verified
)

select * from final
order by episode_id
