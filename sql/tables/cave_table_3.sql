-- CaveAgent, Table 3: stateful tasks, passed turns in percent by arm; beside the published success of CaveAgent
with conditions as (
    select
        dimension, condition,
        case dimension
            when 'type_proficiency' then 'types'
            when 'multi_variable' then 'multi_variable'
            else 'long_horizon'
        end as suite,
        -- the tiers of several variables are numbers of two digits, so that they sort
        if(dimension = 'multi_variable', lpad(condition, 2, '0'), condition) as tier,
        max(n_points) as published_turn_count,
        string_agg(model || ' ' || success_pct, ', ' order by model) as published_passed_pct
    from published.cave_table_3
    where condition <> 'average'
    group by all
)

select
    conditions.suite, conditions.tier, instruction, arm, played_by, turn_count, published_turn_count, replicate_count,
    passed_pct,
    reply_count / turn_count as mean_replies,
    total_tokens / turn_count as mean_total_tokens,
    tokens_counted_by, published_passed_pct
from conditions
left join staging.measured_cave_arms
    on conditions.suite = measured_cave_arms.suite
    and conditions.tier = measured_cave_arms.tier
    and measured_cave_arms.plan_digest = $plan_digest
order by suite, tier, played_by, instruction, arm
