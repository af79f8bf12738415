"""Export in the format of arXiv 2603.01209's repository: a trace file and a result file per episode.

Layout and names of the fields are those of the repository; what it has no place for (the declared contract) stands
under `contract`, which its scripts do not read.
"""

import json
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from tasks.interchange.recorded import RecordedTrace
from tasks.traces.rows import FinishReason, StepRow, TurnRow


class AuthorsDocuments(NamedTuple):
    """The pair of files of one episode."""

    trace: dict[str, Any]
    result: dict[str, Any]


def write_authors(traces: Iterable[RecordedTrace], folder: Path) -> list[Path]:
    """Write `FOLDER/NAME.trace.json` and `FOLDER/NAME.json` per episode and return the trace files."""
    paths = []
    for trace in traces:
        directory = folder / trace.folder
        directory.mkdir(parents=True, exist_ok=True)
        documents = authors_documents(trace)
        paths.append(directory / f"{trace.name}.trace.json")
        paths[-1].write_text(_dump(documents.trace), encoding="utf-8")
        (directory / f"{trace.name}.json").write_text(_dump(documents.result), encoding="utf-8")
    return paths


def authors_documents(trace: RecordedTrace) -> AuthorsDocuments:
    """Return an episode as the authors' trace and result.

    An episode that ran out of time has no finish event, as in the repository.
    """
    episode = trace.episode
    finished_at = episode.started_at + timedelta(seconds=episode.wall_seconds)
    times = {"started_at": episode.started_at.isoformat(), "finished_at": finished_at.isoformat()}
    events = list(_events(trace, finished_at))
    summary = {
        "task": _task(trace),
        "system_prompts": _system_prompts(trace),
        "num_steps": len(trace.steps),
        "finish_reason": None if episode.finish_reason is FinishReason.TIMEOUT else episode.finish_reason.value,
        "errors": [event["data"]["error"] for event in events if event["type"] == "ErrorEvent"],
        "token_usage": _usage(episode.prompt_tokens, episode.completion_tokens),
    }
    declared = {"runtime": episode.runtime_contract, "shown": episode.shown_contract, "trained": episode.train_contract}
    contract = declared | {"declaration": json.loads(episode.contract_json)}
    return AuthorsDocuments(
        trace=times | {"summary": summary, "events": events, "contract": contract},
        result=times | {"status": _status(trace), "error": episode.error_message, "result": _result(trace)},
    )


def _events(trace: RecordedTrace, finished_at: datetime) -> Iterator[dict[str, Any]]:
    episode = trace.episode
    clock = episode.started_at
    yield _event("StartEvent", clock, {"task": _task(trace)})
    yield _event("SystemPromptEvent", clock, {"prompts": _system_prompts(trace)})
    step_of = {step.turn: step for step in trace.steps}
    for turn in trace.turns:
        if turn.turn == 0:
            continue
        step = step_of.get(turn.turn)
        yield _event("ModelCallEvent", clock, {"timestamp": clock.isoformat(), "prompt_tokens": turn.prompt_tokens})
        clock += timedelta(seconds=turn.model_seconds)
        usage = _usage(turn.prompt_tokens, turn.completion_tokens)
        response = {"completion_tokens": usage["completion_tokens"], "total_tokens": usage["total_tokens"]}
        yield _event("ModelResponseEvent", clock, {"timestamp": clock.isoformat()} | response)
        if error := _error(turn, step):
            yield _event("ErrorEvent", clock, {"error": error})
        if step is not None:
            clock += timedelta(seconds=step.execution_seconds)
            yield _event("StepEvent", clock, _step(turn, step, usage))
    if episode.finish_reason is not FinishReason.TIMEOUT:
        usage = _usage(episode.prompt_tokens, episode.completion_tokens)
        yield _event("FinishEvent", finished_at, {"reason": episode.finish_reason.value, "token_usage": usage})


def _event(kind: str, at: datetime, data: dict[str, Any]) -> dict[str, Any]:
    return {"type": kind, "data": data, "timestamp": at.isoformat()}


def _step(turn: TurnRow, step: StepRow, usage: dict[str, int]) -> dict[str, Any]:
    interpreter_result = {
        "success": step.error is None,
        "result": step.result,
        "output": step.output,
        "error": step.error,
    }
    return {
        "turn": turn.turn,
        "assistant_text": turn.assistant_text,
        "code": step.code,
        "interpreter_result": interpreter_result,
        "token_usage": usage,
    }


def _error(turn: TurnRow, step: StepRow | None) -> str | None:
    if step is not None:
        return step.error
    return "no code block was executed" if turn.block_count == 0 else None


def _result(trace: RecordedTrace) -> dict[str, Any]:
    episode, instance = trace.episode, trace.instance
    optimal_value = instance.optimal_value if instance else None
    return {
        "is_solved": episode.is_solved,
        "score": episode.score,
        "metrics": {
            "agent_value": episode.value_taken,
            "optimal_value": optimal_value,
            "optimality_gap": None if optimal_value is None else optimal_value - episode.value_taken,
            "weight_used": episode.weight_taken,
            "capacity": instance.capacity if instance else None,
            "items_taken_count": episode.taken_count,
            "inspected_count": episode.inspected_count,
        },
    }


def _status(trace: RecordedTrace) -> str:
    return "error" if trace.episode.finish_reason is FinishReason.ERROR else "success"


def _system_prompts(trace: RecordedTrace) -> list[str]:
    return [message.content for message in trace.opening if message.role == "system"]


def _task(trace: RecordedTrace) -> str:
    return "\n\n".join(message.content for message in trace.opening if message.role == "user")


def _usage(prompt_tokens: int, completion_tokens: int) -> dict[str, int]:
    return {
        "prompt_tokens": prompt_tokens,
        "completion_tokens": completion_tokens,
        "total_tokens": prompt_tokens + completion_tokens,
    }


def _dump(document: dict[str, Any]) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
