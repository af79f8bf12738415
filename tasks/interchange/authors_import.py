"""Import of trace and result files as arXiv 2603.01209's repository writes them.

Read against the events, the trace logger, the agent loop and the benchmark of mrcabbage972/agents-learn-runtime at
5ba1133; 0a90eba leaves them as they are. A reply whose block did not run is a turn without a step here, where the
repository counts it as a step; a model call that failed is a turn with an empty reply.
"""

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from carryover.tasks.agent.protocol import Message
from carryover.tasks.interchange.authors import FAMILY
from carryover.tasks.interchange.imported import ImportedRows, ImportedTrace, ImportedTurn, import_trace
from carryover.tasks.interchange.setting import ImportSetting
from carryover.tasks.lint.chat_records import read_json
from carryover.tasks.services.errors import UserError
from carryover.tasks.traces.vocabulary import FinishReason


class KnownInstance(NamedTuple):
    """An instance as a result file describes it; a task id alone is ambiguous."""

    task_id: str
    capacity: int
    optimal_value: int


def read_authors(
    folder: Path, setting: ImportSetting, instance_ids: Mapping[KnownInstance, str] | None = None
) -> Iterator[ImportedRows]:
    """Yield the rows of every `X.trace.json` with its `X.json` under a folder, at any depth, ordered by path.

    A `contract` that a file declares goes before the setting's. `instance_ids` are the content hashes of known
    instances; any other task becomes an instance of its own name.

    Raises:
        UserError: There is no trace file, one has another layout, or two are of the same task, contract and model.
    """
    paths = sorted(folder.rglob("*.trace.json"))
    if not paths:
        raise UserError(f"no *.trace.json under {folder}; name the folder with the benchmark's files")
    path_of: dict[tuple[str, str, str | None], Path] = {}
    for path in paths:
        result_path = path.with_name(path.name.replace(".trace.json", ".json"))
        result = read_json(result_path) if result_path.exists() else {}
        try:
            trace = authors_trace(read_json(path), result, _instance_id(path, result, instance_ids or {}))
            rows = import_trace(trace, setting)
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            said = " ".join(str(error).split())
            raise UserError(
                f"unsupported layout: {path} differs from the repository of arXiv 2603.01209: "
                f"{type(error).__name__} {said}; leave it and its result file out"
            ) from error
        cell = (rows.episode.instance_id, rows.episode.runtime_contract, rows.episode.train_contract)
        if cell in path_of:
            raise UserError(
                f"{path_of[cell]} and {path} are the same task under the same contracts; import one model's folder at "
                "a time, each with its --model and --plan"
            )
        path_of[cell] = path
        yield rows


def _instance_id(path: Path, result: Mapping[str, Any], instance_ids: Mapping[KnownInstance, str]) -> str:
    name = path.name.removesuffix(".trace.json")
    task_id = name.removeprefix(f"{FAMILY}-")
    if task_id.isdigit():  # named by the task alone, whose id begins as the family does
        task_id = name
    metrics = (result.get("result") or {}).get("metrics") or {}
    described = KnownInstance(task_id, metrics.get("capacity", -1), metrics.get("optimal_value", -1))
    return instance_ids.get(described, task_id)


def authors_trace(trace: Mapping[str, Any], result: Mapping[str, Any], instance_id: str) -> ImportedTrace:
    """Return one episode of the authors' format; without a result file it has no score."""
    summary = trace["summary"]
    started_at = _time(trace["started_at"])
    signal = summary.get("finish_reason")
    # the repository writes no finish event when the clock ran out
    known = FinishReason.TIMEOUT if signal is None else FinishReason.OTHER
    finish_reason = FinishReason(signal) if signal in list(FinishReason) else known
    foreign_word = f"finish reason {signal!r}" if finish_reason is FinishReason.OTHER != signal else None
    wall_seconds = (_time(trace["finished_at"]) - started_at).total_seconds() if trace["finished_at"] else 0.0
    if "finished_at" in result:  # measured around the episode
        wall_seconds = result["finished_at"] - result["started_at"]
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
        finish_reason=finish_reason,
        started_at=started_at,
        wall_seconds=wall_seconds,
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
        error_message=result.get("error") or foreign_word,
    )


def _turns(events: list[Mapping[str, Any]]) -> Iterator[ImportedTurn]:
    """Yield one turn per model response, with the step that it led to, if any, and one per model call that failed."""
    pending: ImportedTurn | None = None
    prompt_tokens = 0
    for event, following in zip_longest(events, events[1:]):
        data = event["data"]
        match event["type"]:
            case "ModelCallEvent":
                prompt_tokens = data.get("prompt_tokens") or 0
            case "ModelResponseEvent":
                if pending is not None:
                    yield pending
                completion_tokens = data.get("completion_tokens") or 0
                prompt_tokens = (data.get("total_tokens") or prompt_tokens + completion_tokens) - completion_tokens
                pending = ImportedTurn(prompt_tokens=prompt_tokens, completion_tokens=completion_tokens)
            case "ErrorEvent" if pending is not None:
                pending = pending._replace(error=data["error"])
            case "ErrorEvent":
                # an error that ended the episode stands in the result, and before the finish event that says so
                is_last = following is not None and following["type"] == "FinishEvent"
                if not is_last or following["data"].get("reason") in ("finish_tool", "max_turns"):
                    yield ImportedTurn(error=data["error"], is_model_error=True)
            case "StepEvent":
                outcome = data["interpreter_result"] or {}
                result = outcome.get("result")
                yield (pending or ImportedTurn())._replace(
                    assistant_text=data["assistant_text"],
                    code=data["code"],
                    output=outcome.get("output") or "",
                    result=result if result is None or isinstance(result, str) else json.dumps(result),
                    error=outcome.get("error") or None,
                )
                pending = None
    if pending is not None:
        yield pending


def _time(text: str) -> datetime:
    time = datetime.fromisoformat(text)
    return time if time.tzinfo else time.replace(tzinfo=UTC)
