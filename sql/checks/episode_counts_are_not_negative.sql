-- episodes with a count, a number of tokens or a duration below zero (or no number), or more turns than allowed
select
    episode_id, turn_count, max_turns, step_count
from main.episodes
where least(
    episodes.turn_count, episodes.step_count, episodes.call_site_count, episodes.executed_call_count,
    episodes.taken_count, episodes.inspected_count, episodes.value_taken, episodes.weight_taken,
    episodes.prompt_tokens, episodes.cached_prompt_tokens, episodes.completion_tokens, episodes.injected_fault_count
) < 0
or least(episodes.model_seconds, episodes.execution_seconds, episodes.wall_seconds) < 0
or not isfinite(episodes.model_seconds + episodes.execution_seconds + episodes.wall_seconds)
or episodes.turn_count > episodes.max_turns
or episodes.step_count > episodes.turn_count
order by episode_id
