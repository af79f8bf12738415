"""Export and import in the Agent Trajectory Interchange Format (ATIF v1.7, Harbor RFC 0001), a document per episode.

The tests hold documents against models of our own, written from the format's specification: harbor, which has the
reference models, needs Python 3.12.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from carryover.tasks.interchange.imported import (
    ImportedRows,
    ImportedTrace,
    ImportedTurn,
    import_trace,
    read_opening,
    read_turn,
)
from carryover.tasks.interchange.recorded import RecordedTrace, with_paths
from carryover.tasks.interchange.setting import ImportSetting
from carryover.tasks.lint.chat_records import read_json, text_of
from carryover.tasks.lint.trace import atif_reply, contract_name
from carryover.tasks.services.errors import UserError
from carryover.tasks.traces.rows import StepRow, TurnRow
from carryover.tasks.traces.vocabulary import FinishReason

SCHEMA_VERSION = "ATIF-v1.7"
TOOL = "python"
"""The one tool of a code agent: its block is the argument, the tools of the study are called inside it."""


def write_atif(traces: Iterable[RecordedTrace], folder: Path) -> list[Path]:
    """Write `FOLDER/NAME.atif.json` per episode and return the files."""
    paths = []
    for trace, path in with_paths(traces, folder, "", ".atif.json"):
        path.write_text(json.dumps(atif_document(trace), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        paths.append(path)
    return paths


def atif_document(trace: RecordedTrace) -> dict[str, Any]:
    """Return an episode as an ATIF trajectory; the declared contract is in `agent.extra` and in `extra`."""
    episode = trace.episode
    contract = {
        "runtime_contract": episode.runtime_contract,
        "shown_contract": episode.shown_contract,
        "train_contract": episode.train_contract,
    }
    step_of = {step.turn: step for step in trace.steps}
    told = [{"source": message.role, "message": message.content} for message in trace.opening]
    told += [_agent_step(turn, step_of.get(turn.turn)) for turn in trace.turns if turn.turn > 0]
    steps = [step | {"step_id": number} for number, step in enumerate(told, start=1)]
    return {
        "schema_version": SCHEMA_VERSION,
        "session_id": episode.run_id,
        "trajectory_id": episode.episode_id,
        "agent": {
            "name": "carryover",
            "version": version("carryover"),
            "model_name": episode.model_name,
            "extra": {"contract": contract | {"declaration": json.loads(episode.contract_json)}},
        },
        "steps": steps,
        "final_metrics": {
            "total_prompt_tokens": episode.prompt_tokens,
            "total_completion_tokens": episode.completion_tokens,
            "total_cached_tokens": episode.cached_prompt_tokens,
            "total_steps": len(steps),
        },
        "extra": contract
        | {
            "instance_id": episode.instance_id,
            "bucket": episode.bucket,
            "score": episode.score,
            "is_solved": episode.is_solved,
            "finish_reason": episode.finish_reason.value,
            "executed_step_count": episode.step_count,
        },
    }


def _agent_step(turn: TurnRow, step: StepRow | None) -> dict[str, Any]:
    content: dict[str, Any] = {
        "source": "agent",
        "message": turn.assistant_text,
        "metrics": {
            "prompt_tokens": turn.prompt_tokens,
            "completion_tokens": turn.completion_tokens,
            "cached_tokens": turn.cached_prompt_tokens,
        },
        "extra": {"turn": turn.turn, "active_globals": list(turn.active_globals)},
    }
    call_id = f"turn-{turn.turn}"
    if step is not None:
        call = {"tool_call_id": call_id, "function_name": TOOL, "arguments": {"code": step.code}}
        content["tool_calls"] = [call]
    result = turn.observation
    if result is None and step is not None:  # the last turn: its observation was sent to nobody
        result = json.dumps({"result": step.result, "output": step.output, "error": step.error})
    if result is not None:
        source = {} if step is None else {"source_call_id": call_id}
        content["observation"] = {"results": [source | {"content": result}]}
    return content


def read_atif(source: Path, setting: ImportSetting) -> Iterator[ImportedRows]:
    """Yield the rows of an `.atif.json` file, or of all under a folder; raise `UserError` for another layout."""
    for path in sorted(source.rglob("*.atif.json")) if source.is_dir() else [source]:
        document = read_json(path)
        try:
            rows = import_trace(_trace(document), setting)
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            said = " ".join(str(error).split())
            raise UserError(f"{path} is not an ATIF trajectory: {type(error).__name__} {said}; leave it out") from error
        yield rows


def _trace(document: Mapping[str, Any]) -> ImportedTrace:
    """Return a trajectory as a trace; what it does not say of itself is in `extra`, as our export writes it."""
    extra, totals = document.get("extra") or {}, document.get("final_metrics") or {}
    told = ((step["source"], text_of({"content": step["message"]})) for step in document["steps"])
    finish_reason = extra.get("finish_reason")
    return ImportedTrace(
        instance_id=str(extra.get("instance_id") or document.get("trajectory_id") or document["session_id"]),
        opening=read_opening(told, "agent"),
        turns=tuple(_turn(step) for step in document["steps"] if step["source"] == "agent"),
        finish_reason=FinishReason(finish_reason) if finish_reason in list(FinishReason) else FinishReason.OTHER,
        score=extra.get("score"),
        is_solved=bool(extra.get("is_solved")),
        prompt_tokens=totals.get("total_prompt_tokens"),
        completion_tokens=totals.get("total_completion_tokens"),
        runtime_contract=contract_name(extra.get("runtime_contract")),
        train_contract=extra.get("train_contract"),
    )


def _turn(step: Mapping[str, Any]) -> ImportedTurn:
    reply, metrics = atif_reply(step), step.get("metrics") or {}
    counts = {name: metrics.get(name) or 0 for name in ("prompt_tokens", "completion_tokens")}
    return read_turn(reply, next(iter(reply.called_codes), None), **counts)
