"""SWE-agent's `.traj` files: shell actions and observations."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from carryover.tasks.readers.conversation import opening_of
from carryover.tasks.readers.outputs import read_outcome
from carryover.tasks.readers.raised import answered
from carryover.tasks.readers.reader import Record
from carryover.tasks.readers.trace import Block, Reply, Trace

LAYOUT = "a trajectory of SWE-agent"
JOINS_RECORDS = False
_TOOLS = ("submit", "str_replace_editor", "edit", "open", "goto", "scroll_up", "scroll_down", "create", "search_dir",
          "search_file", "find_file", "view_image", "exit_forfeit", "insert", "undo_edit")  # fmt: skip
"""Commands of its own tool bundles, which are no code of an agent."""


def detect(record: Any) -> bool:
    """Tell whether a record has steps with an action and an observation."""
    steps = None
    if isinstance(record, Mapping):
        steps = record.get("trajectory")
    return isinstance(steps, list) and bool(steps) and isinstance(steps[0], Mapping) and "action" in steps[0]


def read(records: Sequence[Record]) -> Iterator[Trace]:
    """Yield a trace per file; one action of a reply runs."""
    for record in records:
        content = record.content
        info = content.get("info") or {}
        yield Trace(
            trace_id=str(content.get("instance_id") or record.name),
            instance_id=str(content.get("instance_id") or record.name),
            replies=tuple(_reply(step) for step in content["trajectory"]),
            opening=opening_of(content.get("history") or ()),
            finish_reason=info.get("exit_status"),
            prompt_tokens=(info.get("model_stats") or {}).get("tokens_sent"),
            completion_tokens=(info.get("model_stats") or {}).get("tokens_received"),
        )


def _reply(step: Mapping[str, Any]) -> Reply:
    text = str(step.get("response") or step.get("thought") or "")
    action = str(step.get("action") or "").strip()
    observation = str(step.get("observation") or "")
    name = action.partition(" ")[0].partition("\n")[0]
    if not action or name in _TOOLS:
        return Reply(text, (), observation, other_calls=(name,) if name else ())
    block = answered(Block(action, language="shell"), read_outcome(observation))
    return Reply(text, (block,), observation)
