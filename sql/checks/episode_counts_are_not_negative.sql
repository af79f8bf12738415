-- episodes with a count, a number of tokens or a duration below zero (or no number), or more turns than allowed
select
    episode_id, turn_count, max_turns, step_count
from main.episodes
where least(
    turn_count, step_count, call_site_count, executed_call_count, taken_count, inspected_count, value_taken,
    weight_taken, prompt_tokens, cached_prompt_tokens, completion_tokens, injected_fault_count
) < 0
or least(model_seconds, execution_seconds, wall_seconds) < 0
or not isfinite(model_seconds + execution_seconds + wall_seconds)
or turn_count > max_turns
or step_count > turn_count
order by episode_id
