-- The tool calls of some episodes that reached the host.
select tool_calls.*
from tool_calls
where tool_calls.episode_id in (select unnest($episode_ids))
order by tool_calls.episode_id, tool_calls.step, tool_calls.call
