"""Import of trace and result files as arXiv 2603.01209's repository writes them."""

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tasks.agent.protocol import Message
from tasks.interchange.imported import ImportedRows, ImportedTrace, ImportedTurn, ImportSetting, import_trace
from tasks.running.errors import UserError
from tasks.traces.rows import FinishReason

_FINISH_REASONS = {
    "finish_tool": FinishReason.FINISH_TOOL,
    "max_turns": FinishReason.MAX_TURNS,
    "max_steps": FinishReason.MAX_TURNS,
    "context_length": FinishReason.CONTEXT_LENGTH,
    "length": FinishReason.CONTEXT_LENGTH,
    "error": FinishReason.ERROR,
    "exception": FinishReason.ERROR,
    "tool_error": FinishReason.ERROR,
    None: FinishReason.TIMEOUT,  # the repository writes no finish event when the clock ran out
}


def read_authors(
    folder: Path, setting: ImportSetting, instance_ids: Mapping[str, str] | None = None
) -> Iterator[ImportedRows]:
    """Yield the rows of every `X.trace.json` with its `X.json` under a folder, ordered by path.

    Args:
        folder: The folder, searched at any depth.
        setting: What the files do not say; a `contract` that a file declares goes before.
        instance_ids: Content hashes of known instances by task id, the start of a file's name; a task that is not
            among them becomes an instance of its own name.

    Raises:
        UserError: There is no trace file, or one has another layout.
    """
    paths = sorted(folder.rglob("*.trace.json"))
    if not paths:
        raise UserError(f"no *.trace.json under {folder}; name the folder with the benchmark's files")
    for path in paths:
        result_path = path.with_name(path.name.replace(".trace.json", ".json"))
        result = _read(result_path) if result_path.exists() else {}
        task_id = path.name.removesuffix(".trace.json")
        known = (instance_ids or {}).get("-".join(task_id.split("-")[:2]), task_id)
        try:
            trace = authors_trace(_read(path), result, known)
        except (KeyError, TypeError, AttributeError) as error:
            raise UserError(
                f"{path} is not laid out as the repository of arXiv 2603.01209 does it: {type(error).__name__} {error}"
            ) from error
        yield import_trace(trace, setting)


def authors_trace(trace: Mapping[str, Any], result: Mapping[str, Any], instance_id: str) -> ImportedTrace:
    """Return one episode of the authors' format; without a result file it has no score."""
    summary = trace["summary"]
    started_at = _time(trace["started_at"])
    outcome = result.get("result") or {}
    metrics = outcome.get("metrics") or {}
    usage = summary.get("token_usage") or {}
    declared = trace.get("contract") or {}
    systems = [Message(role="system", content=text) for text in summary.get("system_prompts") or ()]
    task = summary["task"] if isinstance(summary["task"], str) else json.dumps(summary["task"], sort_keys=True)
    return ImportedTrace(
        instance_id=instance_id,
        opening=(*systems, Message(role="user", content=task)),
        turns=tuple(_turns(trace["events"])),
        finish_reason=_finish_reason(summary.get("finish_reason")),
        started_at=started_at,
        wall_seconds=(_time(trace["finished_at"]) - started_at).total_seconds(),
        score=outcome.get("score"),
        is_solved=bool(outcome.get("is_solved")),
        value_taken=metrics.get("agent_value") or 0,
        weight_taken=metrics.get("weight_used") or 0,
        taken_count=metrics.get("items_taken_count") or 0,
        inspected_count=metrics.get("inspected_count") or 0,
        prompt_tokens=usage.get("prompt_tokens"),
        completion_tokens=usage.get("completion_tokens"),
        runtime_contract=declared.get("runtime"),
        train_contract=declared.get("trained"),
        error_message=result.get("error"),
    )


def _turns(events: list[Mapping[str, Any]]) -> Iterator[ImportedTurn]:
    """Yield one turn per model response, with the step that it led to, if any."""
    pending: ImportedTurn | None = None
    prompt_tokens = 0
    for event in events:
        data = event["data"]
        match event["type"]:
            case "ModelCallEvent":
                prompt_tokens = data.get("prompt_tokens") or 0
            case "ModelResponseEvent":
                if pending is not None:
                    yield pending
                completion_tokens = data.get("completion_tokens") or 0
                prompt_tokens = (data.get("total_tokens") or prompt_tokens + completion_tokens) - completion_tokens
                pending = ImportedTurn("", None, prompt_tokens=prompt_tokens, completion_tokens=completion_tokens)
            case "ErrorEvent":
                if pending is not None:
                    pending = pending._replace(error=data["error"])
            case "StepEvent":
                yield _step(data, pending or ImportedTurn("", None))
                pending = None
    if pending is not None:
        yield pending


def _step(data: Mapping[str, Any], turn: ImportedTurn) -> ImportedTurn:
    outcome = data["interpreter_result"]
    result = outcome.get("result")
    return turn._replace(
        assistant_text=data["assistant_text"],
        code=data["code"],
        output=outcome.get("output") or "",
        result=result if result is None or isinstance(result, str) else json.dumps(result),
        error=outcome.get("error") or None,
    )


def _finish_reason(reason: str | None) -> FinishReason:
    if reason not in _FINISH_REASONS:
        raise UserError(f"unknown finish reason {reason!r}; known are {', '.join(filter(None, _FINISH_REASONS))}")
    return _FINISH_REASONS[reason]


def _time(text: str) -> datetime:
    time = datetime.fromisoformat(text)
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise UserError(f"{path} is not JSON: {error}") from error
