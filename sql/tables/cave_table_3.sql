-- CaveAgent, Table 3: stateful tasks, passed turns in percent by arm; beside the published success of CaveAgent
with conditions as (
    select
        dimension, condition,
        case cave_table3.dimension
            when 'type_proficiency' then 'types'
            when 'multi_variable' then 'multi_variable'
            else 'long_horizon'
        end as suite,
        -- the tiers of several variables are numbers of two digits, so that they sort
        case cave_table3.dimension
            when 'multi_variable' then lpad(cave_table3.condition, 2, '0')
            else cave_table3.condition
        end as tier,
        max(cave_table3.n_points) as published_turn_count,
        string_agg(cave_table3.model || ' ' || cave_table3.success_pct, ', ' order by cave_table3.model)
            as published_passed_pct
    from published.cave_table3
    where cave_table3.condition <> 'average'
    group by all
)

select
    conditions.suite, conditions.tier, measured_cave_arms.instruction, measured_cave_arms.arm,
    measured_cave_arms.played_by, measured_cave_arms.turn_count, conditions.published_turn_count,
    measured_cave_arms.replicate_count, measured_cave_arms.passed_pct,
    measured_cave_arms.reply_count / measured_cave_arms.turn_count as mean_replies,
    measured_cave_arms.total_tokens / measured_cave_arms.turn_count as mean_total_tokens,
    measured_cave_arms.tokens_counted_by, conditions.published_passed_pct
from conditions
left join staging.measured_cave_arms
    on conditions.suite = measured_cave_arms.suite
    and conditions.tier = measured_cave_arms.tier
    and measured_cave_arms.plan_digest = $plan_digest
order by suite, tier, played_by, instruction, arm
