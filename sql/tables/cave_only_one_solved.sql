-- CaveAgent, appendix F.1: episodes that only one of two arms solved, both ways, and what the winning code used
with solved_episodes as (
    select
        suite, model_name, instruction, case_id, replicate, arm, episode_id,
        bool_and(counted_cave_turns.is_passed) as is_solved
    from staging.counted_cave_turns
    where counted_cave_turns.plan_digest = $plan_digest
    group by all
),

used_constructs as (
    select
        steps.episode_id,
        bool_or(regexp_matches(steps.code, '(?m)^\s*(for|while)\s|\sfor\s+\w+.*\sin\s')) as has_loop,
        bool_or(regexp_matches(steps.code, '(?m)^\s*(if|elif)\s|\sif\s.*\selse\s')) as has_conditional
    from main.steps
    group by steps.episode_id
)

select
    suite, model_name, instruction,
    winners.arm as solved_by,
    losers.arm as not_solved_by,
    count(*) as pair_count,
    count(*) filter (winners.is_solved and not losers.is_solved) as only_solved_count,
    100 * avg(coalesce(used_constructs.has_loop, false)::int)
        filter (winners.is_solved and not losers.is_solved) as with_loop_pct,
    100 * avg(coalesce(used_constructs.has_conditional, false)::int)
        filter (winners.is_solved and not losers.is_solved) as with_conditional_pct
from solved_episodes as winners
inner join solved_episodes as losers using (suite, model_name, instruction, case_id, replicate)
left join used_constructs on winners.episode_id = used_constructs.episode_id
where winners.arm <> losers.arm
group by all
order by suite, model_name, instruction, solved_by, not_solved_by
