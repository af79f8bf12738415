"""Export as logs of Inspect: one JSON log per cell."""

import hashlib
import json
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import groupby
from pathlib import Path, PurePosixPath
from typing import Any

from carryover.tasks.interchange.python_tool import TOOL, call_id, call_result
from carryover.tasks.interchange.recorded import RecordedTrace
from carryover.tasks.traces.rows import EpisodeRow, StepRow, TurnRow

VERSION = 2
SCORER = "optimality"


def write_inspect(traces: Iterable[RecordedTrace], folder: Path) -> int:
    """Write a log per cell, `FOLDER/PLAN/MODEL/TIME_CELL_ID.json`, and return the number of episodes."""
    count = 0
    ordered = sorted(traces, key=lambda trace: (trace.folder, trace.name))
    for cell, found in groupby(ordered, key=lambda trace: trace.folder):
        held = list(found)
        path = folder / PurePosixPath(cell).parent / _file_name(held, cell)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(inspect_log(held, cell)) + "\n", encoding="utf-8")
        count += len(held)
    return count


def _file_name(traces: list[RecordedTrace], cell: str) -> str:
    """Return a name as Inspect gives: it lists no other JSON files, and splits the parts at `_`."""
    time = _started(traces).astimezone(UTC).strftime("%Y-%m-%dT%H-%M-%S")
    return f"{time}_{PurePosixPath(cell).name.replace('_', '-')}_{_task_id(cell)}.json"


def _task_id(cell: str) -> str:
    return hashlib.sha256(cell.encode()).hexdigest()[:22]


def _started(traces: list[RecordedTrace]) -> datetime:
    return min(trace.episode.started_at for trace in traces)


def inspect_log(traces: list[RecordedTrace], name: str) -> dict[str, Any]:
    """Return the log of one cell's episodes."""
    first = traces[0].episode
    samples = [_sample(trace) for trace in traces]
    instances = list(dict.fromkeys(trace.name for trace in traces))
    started = _started(traces)
    usage = _sum_of_usage([sample["model_usage"] for sample in samples])
    return {
        "version": VERSION,
        "status": "success",
        "eval": {
            "eval_id": name,
            "run_id": first.run_id,
            "task_id": _task_id(name),
            "task": name.rpartition("/")[2],
            "created": _time(started),
            "model": first.model_name,
            "dataset": {"name": first.bucket, "samples": len(instances), "sample_ids": instances},
            "config": {"epochs": max(sample["epoch"] for sample in samples)},
            "metadata": {
                "train_contract": first.train_contract,
                "runtime_contract": first.runtime_contract,
                "shown_contract": first.shown_contract,
                "plan": first.plan_digest,
                "declaration": json.loads(first.contract_json),
            },
        },
        # Inspect's list of logs reads the keys before `samples`, and wants this one.
        "plan": {"name": "carryover", "steps": []},
        "results": {
            "total_samples": len(samples),
            "completed_samples": len(samples),
            "scores": [{"name": SCORER, "scorer": SCORER, "metrics": _metrics(traces)}],
        },
        "stats": {"started_at": _time(started), "completed_at": _time(_latest_end(traces)), "model_usage": usage},
        "samples": samples,
    }


def _metrics(traces: list[RecordedTrace]) -> dict[str, Any]:
    scores = [trace.episode.score for trace in traces if trace.episode.score is not None]
    if not scores:
        return {}
    return {"mean": {"name": "mean", "value": sum(scores) / len(scores)}}


def _latest_end(traces: list[RecordedTrace]) -> datetime:
    return max(trace.episode.started_at + timedelta(seconds=trace.episode.wall_seconds) for trace in traces)


def _sum_of_usage(usages: list[dict[str, dict[str, int]]]) -> dict[str, dict[str, int]]:
    summed: dict[str, dict[str, int]] = {}
    for usage in usages:
        for model, counts in usage.items():
            held = summed.setdefault(model, dict.fromkeys(counts, 0))
            for kind, number in counts.items():
                held[kind] += number
    return summed


def _sample(trace: RecordedTrace) -> dict[str, Any]:
    episode = trace.episode
    messages = [{"role": message.role, "content": message.content} for message in trace.opening]
    events: list[dict[str, Any]] = []
    steps_of = trace.steps_by_turn()
    clock = episode.started_at
    for turn in trace.turns:
        if turn.turn == 0:
            continue
        steps = steps_of.get(turn.turn, [])
        clock += timedelta(seconds=turn.model_seconds)
        messages += _messages(turn, steps)
        for step in steps:
            events.append(_tool_event(turn, step, steps, clock, episode.started_at))
            clock += timedelta(seconds=step.execution_seconds)
    usage = _usage(episode)
    reply = next((each["content"] for each in reversed(messages) if each["role"] == "assistant"), "")
    return {
        "id": trace.name,
        "epoch": episode.replicate + 1,
        "uuid": episode.episode_id,
        "input": [each for each in messages if each["role"] != "assistant"][: len(trace.opening)] or "",
        "target": "",
        "messages": messages,
        "output": {
            "model": episode.model_name,
            "choices": [{"message": {"role": "assistant", "content": reply}, "stop_reason": "stop"}],
            "usage": usage,
        },
        "scores": _scores(episode),
        "metadata": trace.condition | {"finish_reason": episode.finish_reason.value},
        "events": events,
        "model_usage": {episode.model_name: usage},
        "started_at": _time(episode.started_at),
        "total_time": episode.wall_seconds,
        **_ending(episode),
    }


def _scores(episode: EpisodeRow) -> dict[str, Any]:
    if episode.score is None:
        return {}
    return {SCORER: {"value": episode.score, "explanation": episode.finish_reason.value}}


def _ending(episode: EpisodeRow) -> dict[str, Any]:
    """Return the limit or error that ended an episode, if any."""
    reason = episode.finish_reason.value
    if reason == "error":
        message = episode.error_message or "error"
        return {"error": {"message": message, "traceback": message, "traceback_ansi": message}}
    limits = {"max_turns": ("message", episode.max_turns), "max_tokens": ("token", episode.max_tokens)}
    name, value = limits.get(reason, ("", None))
    if value is None:  # no row keeps it
        return {}
    return {"limit": {"type": name, "limit": float(value)}}


def _usage(episode: EpisodeRow) -> dict[str, int]:
    return {
        "input_tokens": episode.prompt_tokens,
        "output_tokens": episode.completion_tokens,
        "total_tokens": episode.prompt_tokens + episode.completion_tokens,
        "input_tokens_cache_read": episode.cached_prompt_tokens,
    }


def _messages(turn: TurnRow, steps: list[StepRow]) -> Iterator[dict[str, Any]]:
    """Yield a reply with its blocks as calls, and what came back."""
    reply: dict[str, Any] = {"role": "assistant", "content": turn.assistant_text, "source": "generate"}
    if steps:
        reply["tool_calls"] = [
            {"id": call_id(turn, step, steps), "function": TOOL, "arguments": {"code": step.code}} for step in steps
        ]
    yield reply
    if not steps and turn.observation is not None:
        yield {"role": "user", "content": turn.observation}
    for step in steps:
        message = {"role": "tool", "tool_call_id": call_id(turn, step, steps), "function": TOOL}
        yield message | {"content": call_result(turn, step, steps)}


def _tool_event(
    turn: TurnRow, step: StepRow, steps: list[StepRow], clock: datetime, started: datetime
) -> dict[str, Any]:
    event: dict[str, Any] = {
        "event": "tool",
        "uuid": f"{step.episode_id}-{step.step}",
        "id": call_id(turn, step, steps),
        "function": TOOL,
        "arguments": {"code": step.code},
        "result": call_result(turn, step, steps),
        "timestamp": _time(clock),
        "working_start": (clock - started).total_seconds(),
        "working_time": step.execution_seconds,
        "completed": _time(clock + timedelta(seconds=step.execution_seconds)),
    }
    if step.error is not None:
        event["error"] = {"type": "unknown", "message": step.error}
    return event


def _time(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat()
