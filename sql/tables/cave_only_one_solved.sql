-- CaveAgent, F.1: episodes that one of two arms alone solved, both ways; its code, and how the other one failed
with solved_episodes as (
    select
        suite, tier, model_name, instruction, case_id, replicate, arm, episode_id,
        bool_and(is_passed) as is_solved,
        bool_or(not has_required_calls) as misses_action,
        bool_or(call_count < golden_call_count) as explores_less
    from staging.counted_cave_turns
    where plan_digest = $plan_digest
    group by all
),

used_constructs as (
    select
        episode_id,
        bool_or(regexp_matches(code, '(?m)^\s*(for|while)\s|\sfor\s+\w+.*\sin\s')) as has_loop,
        bool_or(regexp_matches(code, '(?m)^\s*(if|elif)\s|\sif\s.*\selse\s')) as has_conditional
    from main.steps
    group by episode_id
),

measured as (
    select
        suite, tier, model_name, instruction,
        winners.arm as solved_by,
        losers.arm as not_solved_by,
        count(*) as pair_count,
        count(*) filter (winners.is_solved and not losers.is_solved) as only_solved_count,
        100 * avg(coalesce(has_loop, false)::int) filter (winners.is_solved and not losers.is_solved)
            as with_loop_pct,
        100 * avg(coalesce(has_conditional, false)::int) filter (winners.is_solved and not losers.is_solved)
            as with_conditional_pct,
        100 * avg(losers.misses_action::int) filter (winners.is_solved and not losers.is_solved)
            as missing_action_pct,
        100 * avg(losers.explores_less::int) filter (winners.is_solved and not losers.is_solved)
            as incomplete_exploration_pct
    from solved_episodes as winners
    inner join solved_episodes as losers using (suite, tier, model_name, instruction, case_id, replicate)
    left join used_constructs on winners.episode_id = used_constructs.episode_id
    where winners.arm <> losers.arm
    group by all
)

select
    suite, tier, solved_by, not_solved_by, measured.* exclude (suite, tier, solved_by, not_solved_by),
    cave_failure_analysis.only_solved_count as published_only_solved_count,
    cave_failure_analysis.with_loop_pct as published_with_loop_pct,
    cave_failure_analysis.with_conditional_pct as published_with_conditional_pct,
    cave_failure_analysis.missing_action_pct as published_missing_action_pct,
    cave_failure_analysis.incomplete_exploration_pct as published_incomplete_exploration_pct
from measured
full join published.cave_failure_analysis using (suite, tier, solved_by, not_solved_by)
order by suite, tier, solved_by, not_solved_by, model_name, instruction
