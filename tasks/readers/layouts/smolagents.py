"""Steps of smolagents' memory, bare or under `steps`."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from carryover.tasks.readers.conversation import read_call, tokens_of
from carryover.tasks.readers.outputs import read_outcome, text_of_parts
from carryover.tasks.readers.raised import answered
from carryover.tasks.readers.reader import Record, shared_name
from carryover.tasks.readers.source_code import FoundCode, code_in_calls
from carryover.tasks.readers.text_blocks import code_in_text
from carryover.tasks.readers.trace import Block, OpeningMessage, Reply, Trace

LAYOUT = "smolagents' memory"
JOINS_RECORDS = True
_OWN = ("code_action", "model_output", "model_output_message", "is_final_answer", "model_input_messages")


def detect(record: Any) -> bool:
    """Tell whether a record is a step, or a run with steps."""
    if not isinstance(record, Mapping):
        return False
    steps = record.get("steps")
    if isinstance(steps, list) and steps:
        return any(detect(step) for step in steps[:3])
    return ("step_number" in record and any(field in record for field in _OWN)) or "task_images" in record


def read(records: Sequence[Record]) -> Iterator[Trace]:
    """Yield a trace of bare steps, or per record; all ran."""
    if "steps" not in records[0].content:
        yield _trace([record.content for record in records], shared_name(records), {})
        return
    for record in records:
        yield _trace(record.content["steps"], record.name, record.content)


def _trace(steps: list[Mapping[str, Any]], name: str, run: Mapping[str, Any]) -> Trace:
    actions = [step for step in steps if "step_number" in step]
    opening = tuple(OpeningMessage("user", str(step["task"])) for step in [run, *steps] if step.get("task"))
    is_final = bool(actions) and bool(actions[-1].get("is_final_answer"))
    finish_reason = "answer" if is_final else run.get("state")
    replies = tuple(_reply(step) for step in actions)
    return Trace(trace_id=str(run.get("id") or name), replies=replies, opening=opening[:1], finish_reason=finish_reason)


def _reply(step: Mapping[str, Any]) -> Reply:
    text = text_of_parts(step.get("model_output") or step.get("model_output_message"))
    outcome = read_outcome({"output": step.get("observations"), "error": step.get("error")})
    found = _code(step, text)
    ran = tuple(answered(block, outcome) for block in found.blocks)
    error = None if ran else outcome.error
    return Reply(text, ran, outcome.output, found.unread, found.other_calls, error=error, **tokens_of(step))


def _code(step: Mapping[str, Any], text: str) -> FoundCode:
    if step.get("code_action"):
        return FoundCode((Block(step["code_action"]),))
    called = code_in_calls([read_call(call) for call in step.get("tool_calls") or ()])
    return called if called.blocks else called._replace(blocks=code_in_text(text).blocks)
