"""Import of trajectories in the Agent Trajectory Interchange Format, as `atif.py` writes them."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from carryover.tasks.agent.protocol import Message
from carryover.tasks.interchange.imported import UNKNOWN_TIME, ImportedRows, ImportedTrace, ImportedTurn, import_trace
from carryover.tasks.interchange.observations import read_observation
from carryover.tasks.interchange.setting import ImportSetting
from carryover.tasks.lint.chat_records import read_json, text_of
from carryover.tasks.lint.trace import called_code, contract_name
from carryover.tasks.running.errors import UserError
from carryover.tasks.traces.rows import FinishReason


def read_atif(source: Path, setting: ImportSetting) -> Iterator[ImportedRows]:
    """Yield the rows of one `.atif.json` file, or of every such file under a folder, ordered by path.

    Raises:
        UserError: A file has another layout.
    """
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
    steps, extra = document["steps"], document.get("extra") or {}
    totals = document.get("final_metrics") or {}
    first = next((place for place, step in enumerate(steps) if step["source"] == "agent"), len(steps))
    finish_reason = extra.get("finish_reason")
    return ImportedTrace(
        instance_id=str(extra.get("instance_id") or document.get("trajectory_id") or document["session_id"]),
        opening=tuple(
            Message(role="system" if step["source"] == "system" else "user", content=_text(step))
            for step in steps[:first]
        ),
        turns=tuple(_turn(step) for step in steps[first:] if step["source"] == "agent"),
        finish_reason=FinishReason(finish_reason) if finish_reason in list(FinishReason) else FinishReason.OTHER,
        started_at=UNKNOWN_TIME,
        score=extra.get("score"),
        is_solved=bool(extra.get("is_solved")),
        prompt_tokens=totals.get("total_prompt_tokens"),
        completion_tokens=totals.get("total_completion_tokens"),
        runtime_contract=contract_name(extra.get("runtime_contract")),
        train_contract=extra.get("train_contract"),
    )


def _turn(step: Mapping[str, Any]) -> ImportedTurn:
    codes = [called_code(call["function_name"], call["arguments"]) for call in step.get("tool_calls") or ()]
    results = (step.get("observation") or {}).get("results") or ()
    observation = "".join(map(text_of, results)) or None
    metrics = step.get("metrics") or {}
    turn = ImportedTurn(
        _text(step),
        next((code for code in codes if code is not None), None),
        observation=observation,
        prompt_tokens=metrics.get("prompt_tokens") or 0,
        completion_tokens=metrics.get("completion_tokens") or 0,
    )
    return turn if observation is None else turn._replace(**read_observation(observation)._asdict())


def _text(step: Mapping[str, Any]) -> str:
    return text_of({"content": step["message"]})
