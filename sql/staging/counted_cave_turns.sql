-- one row per turn of a case under one arm: those of the last attempt at the episode, unless an error ended it
select cave_turns.*
from main.cave_turns
qualify dense_rank() over (
    partition by plan_digest, case_id, arm, instruction, replicate
    order by attempt desc, run_id desc, episode_id
) = 1
and not bool_or(finish_reason = 'error') over (partition by episode_id)
order by plan_digest, suite, case_id, arm, instruction, replicate, question
