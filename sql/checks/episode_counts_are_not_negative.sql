-- episodes with a count, a number of tokens or a duration below zero (or no number), or more turns than allowed
select
    episodes.episode_id,
    columns(['turn_count', 'max_turns', 'step_count'])
from main.episodes
where least(
    *columns(['turn_count', 'step_count', 'call_site_count', 'executed_call_count', 'injected_fault_count']),
    *columns(['taken_count', 'inspected_count', 'value_taken', 'weight_taken']),
    *columns(['prompt_tokens', 'cached_prompt_tokens', 'completion_tokens'])
) < 0
or least(episodes.model_seconds, episodes.execution_seconds, episodes.wall_seconds) < 0
or not isfinite(episodes.model_seconds + episodes.execution_seconds + episodes.wall_seconds)
or episodes.turn_count > episodes.max_turns
or episodes.step_count > episodes.turn_count
order by episode_id
