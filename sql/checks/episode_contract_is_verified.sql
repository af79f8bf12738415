-- episodes that ran blocks and whose canary does not show the contract's binding rule; foreign traces have no canary
select
    episode_id, runtime_contract, backend, sandbox_level
from main.episodes
where backend <> 'imported'
-- native calls without an interpreter promise nothing about names
and runtime_contract <> 'none'
and step_count > 0
and not is_contract_verified
order by episode_id
