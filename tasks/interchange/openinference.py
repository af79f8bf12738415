"""Export as OpenInference spans: OTLP JSON, an episode a line."""

import hashlib
import json
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from carryover.tasks.interchange.python_tool import TOOL, call_result
from carryover.tasks.interchange.recorded import RecordedTrace
from carryover.tasks.traces.rows import EpisodeRow, StepRow, TurnRow

PROJECT = "carryover"
_KIND = "openinference.span.kind"
_INTERNAL = 1
_OK = 1
_ERROR = 2


class _Span(NamedTuple):
    """A span before it gets its trace."""

    key: str
    name: str
    started: datetime
    ended: datetime
    attributes: dict[str, Any]
    parent: str | None
    error: str | None = None


def write_openinference(traces: Iterable[RecordedTrace], path: Path) -> int:
    """Write an OTLP request per episode, and return their count."""
    count = 0
    with path.open("w", encoding="utf-8") as lines:
        for trace in traces:
            lines.write(json.dumps(export_request(trace)) + "\n")
            count += 1
    return count


def export_request(trace: RecordedTrace) -> dict[str, Any]:
    """Return an episode's spans: the agent's, model calls', blocks'."""
    episode_id = trace.episode.episode_id
    resource = {"service.name": PROJECT, "openinference.project.name": PROJECT}
    spans = [_otlp(episode_id, span) for span in _spans(trace)]
    return {
        "resourceSpans": [
            {
                "resource": {"attributes": _attributes(resource)},
                "scopeSpans": [{"scope": {"name": PROJECT}, "spans": spans}],
            }
        ]
    }


def _spans(trace: RecordedTrace) -> Iterator[_Span]:
    episode = trace.episode
    ended = episode.started_at + timedelta(seconds=episode.wall_seconds)
    yield _Span("episode", f"episode {trace.name}", episode.started_at, ended, _agent(episode), None)
    steps_of = trace.steps_by_turn()
    messages = [{"role": message.role, "content": message.content} for message in trace.opening]
    clock = episode.started_at
    for turn in trace.turns:
        if turn.turn == 0:
            continue
        answered = clock + timedelta(seconds=turn.model_seconds)
        attributes = _model_call(episode, turn, messages)
        yield _Span(f"turn-{turn.turn}", episode.model_name, clock, answered, attributes, "episode")
        clock = answered
        steps = steps_of.get(turn.turn, [])
        for step in steps:
            done = clock + timedelta(seconds=step.execution_seconds)
            attributes = _block(step, call_result(turn, step, steps))
            yield _Span(f"step-{step.step}", TOOL, clock, done, attributes, "episode", step.error)
            clock = done
        messages.append({"role": "assistant", "content": turn.assistant_text})
        if turn.observation is not None:
            messages.append({"role": "user", "content": turn.observation})


def _agent(episode: EpisodeRow) -> dict[str, Any]:
    contract = {"train": episode.train_contract, "runtime": episode.runtime_contract, "shown": episode.shown_contract}
    metadata = {
        "contract": contract,
        "instance_id": episode.instance_id,
        "score": episode.score,
        "finish_reason": episode.finish_reason.value,
        "declaration": json.loads(episode.contract_json),
    }
    return {_KIND: "AGENT", "session.id": episode.run_id, "agent.name": PROJECT, "metadata": json.dumps(metadata)}


def _model_call(episode: EpisodeRow, turn: TurnRow, messages: list[dict[str, str]]) -> dict[str, Any]:
    attributes: dict[str, Any] = {
        _KIND: "LLM",
        "llm.model_name": episode.model_name,
        "llm.token_count.prompt": turn.prompt_tokens,
        "llm.token_count.completion": turn.completion_tokens,
        "llm.token_count.total": turn.prompt_tokens + turn.completion_tokens,
        "llm.token_count.prompt_details.cache_read": turn.cached_prompt_tokens,
        "output.value": turn.assistant_text,
        "llm.output_messages.0.message.role": "assistant",
        "llm.output_messages.0.message.content": turn.assistant_text,
    }
    for number, message in enumerate(messages):
        attributes[f"llm.input_messages.{number}.message.role"] = message["role"]
        attributes[f"llm.input_messages.{number}.message.content"] = message["content"]
    return attributes


def _block(step: StepRow, result: str) -> dict[str, Any]:
    return {
        _KIND: "TOOL",
        "tool.name": TOOL,
        "input.value": step.code,
        "input.mime_type": "text/plain",
        "output.value": result,
    }


def _otlp(episode_id: str, span: _Span) -> dict[str, Any]:
    status: dict[str, Any] = {"code": _OK}
    if span.error is not None:
        status = {"code": _ERROR, "message": span.error}
    record = {
        "traceId": _digits(episode_id, 32),
        "spanId": _digits(f"{episode_id}/{span.key}", 16),
        "name": span.name,
        "kind": _INTERNAL,
        "startTimeUnixNano": _nanoseconds(span.started),
        "endTimeUnixNano": _nanoseconds(span.ended),
        "attributes": _attributes(span.attributes),
        "status": status,
    }
    if span.parent is not None:
        record["parentSpanId"] = _digits(f"{episode_id}/{span.parent}", 16)
    return record


def _attributes(held: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "value": _value(value)} for key, value in held.items()]


def _value(value: Any) -> dict[str, Any]:
    if isinstance(value, int):
        return {"intValue": str(value)}
    return {"stringValue": value}


def _digits(text: str, count: int) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:count]


def _nanoseconds(moment: datetime) -> str:
    """Return a time as OTLP has it: nanoseconds, as text."""
    return str(round(moment.timestamp() * 1e6) * 1000)
