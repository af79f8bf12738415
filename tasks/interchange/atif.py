"""Export as Agent Trajectory Interchange Format (ATIF v1.8), a document per episode.

The tests hold documents against models of our own, written from the format's specification; one test lets harbor's
reference models, which need Python 3.12, read them in an environment of their own.
"""

import json
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from carryover.tasks.interchange.python_tool import TOOL, TOOL_DEFINITION, call_id, call_result
from carryover.tasks.interchange.recorded import RecordedTrace, with_paths
from carryover.tasks.traces.rows import StepRow, TurnRow

SCHEMA_VERSION = "ATIF-v1.8"


def write_atif(traces: Iterable[RecordedTrace], folder: Path) -> list[Path]:
    """Write `FOLDER/NAME.atif.json` per episode and return the files."""
    paths = []
    for trace, path in with_paths(traces, folder, "", ".atif.json"):
        path.write_text(json.dumps(atif_document(trace), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        paths.append(path)
    return paths


def atif_document(trace: RecordedTrace) -> dict[str, Any]:
    """Return an episode as an ATIF trajectory, with its contract.

    The contract is in `agent.extra` and in `extra`.
    """
    episode = trace.episode
    contract = {
        "runtime_contract": episode.runtime_contract,
        "shown_contract": episode.shown_contract,
        "train_contract": episode.train_contract,
    }
    steps_of = trace.steps_by_turn()
    unnumbered = [{"source": message.role, "message": message.content} for message in trace.opening]
    unnumbered += [_agent_step(turn, steps_of.get(turn.turn, [])) for turn in trace.turns if turn.turn > 0]
    steps = [step | {"step_id": number} for number, step in enumerate(unnumbered, start=1)]
    return {
        "schema_version": SCHEMA_VERSION,
        "session_id": episode.run_id,
        "trajectory_id": episode.episode_id,
        "agent": {
            "name": "carryover",
            "version": version("carryover"),
            "model_name": episode.model_name,
            "tool_definitions": [TOOL_DEFINITION],
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
            "episode": trace.condition,
        },
    }


def _agent_step(turn: TurnRow, steps: list[StepRow]) -> dict[str, Any]:
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
    if steps:
        content["tool_calls"] = [_call(turn, step, steps) for step in steps]
    results = _results(turn, steps)
    if results:
        content["observation"] = {"results": results}
    return content


def _call(turn: TurnRow, step: StepRow, steps: list[StepRow]) -> dict[str, Any]:
    arguments = {"code": step.code}
    return {"tool_call_id": call_id(turn, step, steps), "function_name": TOOL, "arguments": arguments}


def _results(turn: TurnRow, steps: list[StepRow]) -> list[dict[str, Any]]:
    """Return a result per block, or the message that answered a turn without one."""
    if not steps and turn.observation is not None:
        return [{"content": turn.observation}]
    return [{"source_call_id": call_id(turn, step, steps), "content": call_result(turn, step, steps)} for step in steps]
