-- Reinforcement: the episodes of each training's first and last updates, and the updates until names are kept
with updates as (
    select policy_updates.*
    from main.policy_updates
    inner join main.plan_stages
        on policy_updates.reinforcement_id = concat(plan_stages.name, '-', plan_stages.stage_digest)
    where plan_stages.plan_digest = $plan_digest and plan_stages.stage = 'reinforcement'
),

looked_back as (
    select
        *,
        avg(missed_share) over (
            partition by reinforcement_id
            order by policy_update
            rows between 1 preceding and current row
        ) as recently_missed_share
    from updates
)

select
    train_contract,
    runtime_contract,
    training_seed,
    max(policy_update) as update_count,
    min(policy_update) filter (policy_update > 1 and recently_missed_share <= 0.05) as updates_until_names_are_kept,
    cast(sum(episode_count) as bigint) as played_episode_count,
    100 * arg_min(missed_share, policy_update) as first_missed_pct,
    100 * arg_max(missed_share, policy_update) as last_missed_pct,
    100 * arg_min(mean_score, policy_update) as first_score_pct,
    100 * arg_max(mean_score, policy_update) as last_score_pct,
    arg_min(mean_reply_count, policy_update) as first_mean_reply_count,
    arg_max(mean_reply_count, policy_update) as last_mean_reply_count,
    arg_min(mean_tokens, policy_update) as first_mean_tokens,
    arg_max(mean_tokens, policy_update) as last_mean_tokens
from looked_back
group by reinforcement_id, train_contract, runtime_contract, training_seed
order by train_contract, runtime_contract, training_seed
