-- The tool calls of an episode that reached the host.
select tool_calls.*
from tool_calls
where tool_calls.episode_id = $episode_id
order by tool_calls.step, tool_calls.call
