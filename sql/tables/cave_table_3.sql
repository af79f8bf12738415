-- CaveAgent, Table 3: stateful tasks, passed turns in percent by arm; beside the published success of CaveAgent
with conditions as (
    select
        cave_table3.dimension,
        cave_table3.condition,
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
),

measured as (
    select
        counted_cave_turns.suite,
        counted_cave_turns.tier,
        counted_cave_turns.arm,
        counted_cave_turns.model_name,
        counted_cave_turns.is_oracle,
        count(distinct counted_cave_turns.case_id || ' ' || counted_cave_turns.question) as turn_count,
        count(distinct counted_cave_turns.replicate) as replicate_count,
        100 * avg(counted_cave_turns.is_passed::int) as passed_pct,
        avg(counted_cave_turns.reply_count) as mean_replies,
        avg(counted_cave_turns.prompt_tokens + counted_cave_turns.completion_tokens) as mean_total_tokens
    from staging.counted_cave_turns
    where counted_cave_turns.plan_digest = $plan_digest
    group by all
),

final as (
    select
        conditions.suite,
        conditions.tier,
        measured.arm,
        case
            when measured.is_oracle then 'oracle: shows only that the harness loses nothing'
            else measured.model_name
        end as played_by,
        measured.turn_count,
        conditions.published_turn_count,
        measured.replicate_count,
        measured.passed_pct,
        measured.mean_replies,
        measured.mean_total_tokens,
        conditions.published_passed_pct
    from conditions
    left join measured using (suite, tier)
)

select * from final
order by suite, tier, played_by, arm
