-- one row per turn of a case under one arm: those of the last attempt at the episode, unless an error ended it
select cave_turns.*
from main.cave_turns
qualify dense_rank() over (
    partition by
        cave_turns.plan_digest, cave_turns.case_id, cave_turns.arm, cave_turns.instruction, cave_turns.replicate
    order by cave_turns.attempt desc, cave_turns.run_id desc, cave_turns.episode_id
) = 1
and not bool_or(cave_turns.finish_reason = 'error') over (partition by cave_turns.episode_id)
order by plan_digest, suite, case_id, arm, instruction, replicate, question
