"""Export as arXiv 2603.01209's repository: trace and result per episode.

Layout and names are those of the repository (mrcabbage972/agents-learn-runtime at 5ba1133; 0a90eba differs in its
benchmark configurations, which set `max_tool_calls: 25`). The declared contract stands under `contract`, which the
scripts do not read. `scripts/get_trace_stats.py` takes two of the condition folders, `scripts/compare_benchmarks.py`
two of them as `.tar.gz`. `scripts/main_table.py` takes a spec with one entry per cell: `difficulty` (`Easy` or
`Medium`), `train` and `runtime` (`Persistent` or `Reset`), `path` of the cell's `summary.json`, and for the interval
`metrics_path`, the folder. Their numbers are those of Tables 1, 2, 7 and 8 here, with these differences:

- An episode of which no reply held a block has 0 steps here; `get_trace_stats.py` counts its replies then.
- An episode without a score has no `result`, which `compare_benchmarks.py` takes for a score of 0; our pairs leave it
  out.
- Differences of scores are rounded to nine decimals here before they are ranked, and are taken as they come there.
- The interval of `main_table.py` resamples in the order in which the file system lists the files, with another random
  generator: half of it differs from ours by less than 0.1 points on 4,000 episodes.

With a checkout, `CARRYOVER_AUTHORS=CHECKOUT pytest -m slow tests/tasks/interchange/test_authors_own_scripts.py` runs
them.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from statistics import fmean, median
from typing import Any, NamedTuple

from carryover.tasks.interchange.recorded import RecordedTrace, with_paths
from carryover.tasks.readers.outputs import read_outcome
from carryover.tasks.traces.rows import StepRow, TurnRow
from carryover.tasks.traces.vocabulary import FinishReason

FAMILY = "knapsack"
"""The repository's name of the task family: the first part of every file name, and of every task id."""
_STATUS = {
    FinishReason.TIMEOUT: "timeout",
    **dict.fromkeys((FinishReason.ERROR, FinishReason.EXCEPTION, FinishReason.TOOL_ERROR), "error"),
}
NO_BLOCK = "no code block was executed"
"""Error of a reply without a block, where the message to the agent was not recorded."""


class AuthorsDocuments(NamedTuple):
    """The pair of files of one episode."""

    trace: dict[str, Any]
    result: dict[str, Any]


def write_authors(traces: Iterable[RecordedTrace], folder: Path) -> list[Path]:
    """Write `X.trace.json` and `X.json` per episode, and `summary.json`.

    `X` is `FOLDER/PLAN/MODEL/CONDITION/knapsack-TASK`; raise `UserError` where two episodes share it.
    """
    written: dict[Path, list[AuthorsDocuments]] = defaultdict(list)
    paths = []
    for trace, path in with_paths(traces, folder, f"{FAMILY}-", ".trace.json"):
        documents = authors_documents(trace)
        path.write_text(_dump(documents.trace), encoding="utf-8")
        path.with_name(path.name.replace(".trace.json", ".json")).write_text(_dump(documents.result), encoding="utf-8")
        summary = {name: documents.trace["summary"][name] for name in ("num_steps", "token_usage")}
        written[path.parent].append(AuthorsDocuments({"summary": summary}, documents.result))
        paths.append(path)
    for directory, documents in written.items():
        (directory / "summary.json").write_text(_dump(summarise_results(documents)), encoding="utf-8")
    return paths


def summarise_results(documents: Sequence[AuthorsDocuments]) -> dict[str, Any]:
    """Return means over the episodes of one condition, under the repository's names.

    `metrics` holds mean, median, minimum and maximum of every number of the results, the score (in [0, 1]) among them;
    an episode without a score counts as executed and unsolved, and in no metric. Times are seconds.
    """
    results = [document.result.get("result", {}) for document in documents]
    metrics = _metrics_by_name(results)
    seconds = [document.result["finished_at"] - document.result["started_at"] for document in documents]
    summaries = [document.trace["summary"] for document in documents]
    solved = [result.get("is_solved") is True for result in results]
    return {
        "average_is_solved": fmean(solved),
        "average_runtime": fmean(seconds),
        "average_steps": fmean(summary["num_steps"] for summary in summaries),
        "average_total_tokens": fmean(summary["token_usage"]["total_tokens"] for summary in summaries),
        "metrics": {name: _spread(values) for name, values in metrics.items()},
        "num_tasks_executed": len(documents),
        "num_tasks_solved": sum(solved),
    }


def _metrics_by_name(results: Sequence[dict[str, Any]]) -> dict[str, list[float]]:
    metrics: dict[str, list[float]] = defaultdict(list)
    for result in results:
        for name, value in {**result.get("metrics", {}), "score": result.get("score")}.items():
            if value is not None:
                metrics[name].append(value)
    return metrics


def _spread(values: list[float]) -> dict[str, float]:
    return {"mean": fmean(values), "median": median(values), "min": min(values), "max": max(values)}


def authors_documents(trace: RecordedTrace) -> AuthorsDocuments:
    """Return an episode as the authors' trace and result.

    An episode that ran out of time has no finish event, as in the repository. Times are those of the wall clock: ISO
    8601 in the trace, seconds in the result.
    """
    episode = trace.episode
    finished_at = episode.started_at + timedelta(seconds=episode.wall_seconds)
    system_prompts = [message.content for message in trace.opening if message.role == "system"]
    task = "\n\n".join(message.content for message in trace.opening if message.role == "user")
    events = [
        _event("StartEvent", episode.started_at, {"task": task}),
        _event("SystemPromptEvent", episode.started_at, {"prompts": system_prompts}),
        *_events(trace, finished_at),
    ]
    summary = {
        "task": task,
        "system_prompts": system_prompts,
        "num_steps": len(trace.steps),
        "finish_reason": None if episode.finish_reason is FinishReason.TIMEOUT else episode.finish_reason.value,
        "errors": [event["data"]["error"] for event in events if event["type"] == "ErrorEvent"],
        "token_usage": _usage(episode.prompt_tokens, episode.completion_tokens),
    }
    result = {"is_solved": episode.is_solved, "score": episode.score, "metrics": _metrics(trace)}
    declared = {"runtime": episode.runtime_contract, "shown": episode.shown_contract, "trained": episode.train_contract}
    return AuthorsDocuments(
        trace={
            "started_at": episode.started_at.isoformat(),
            "finished_at": finished_at.isoformat(),
            "summary": summary,
            "events": events,
            "contract": declared | {"declaration": json.loads(episode.contract_json), "episode": trace.condition},
        },
        result={
            "status": _STATUS.get(episode.finish_reason, "completed"),
            "error": episode.error_message,
            **({} if episode.score is None else {"result": result}),
            "finished_at": episode.started_at.timestamp() + episode.wall_seconds,
            "started_at": episode.started_at.timestamp(),
        },
    )


def _metrics(trace: RecordedTrace) -> dict[str, int | None]:
    episode = trace.episode
    optimal_value = None
    if trace.instance:
        optimal_value = trace.instance.optimal_value
    optimality_gap = None
    if optimal_value is not None and episode.value_taken is not None:
        optimality_gap = optimal_value - episode.value_taken
    return {
        "agent_value": episode.value_taken,
        "optimal_value": optimal_value,
        "optimality_gap": optimality_gap,
        "weight_used": episode.weight_taken,
        "capacity": trace.instance.capacity if trace.instance else None,
        "items_taken_count": episode.taken_count,
        "inspected_count": episode.inspected_count,
    }


def _events(trace: RecordedTrace, finished_at: datetime) -> Iterator[dict[str, Any]]:
    episode = trace.episode
    clock = episode.started_at
    steps_of = trace.steps_by_turn()
    for turn in trace.turns:
        if turn.turn == 0:
            continue
        called_at = clock
        clock = clock + timedelta(seconds=turn.model_seconds)
        usage = _usage(turn.prompt_tokens, turn.completion_tokens)
        call = {"timestamp": called_at.isoformat(), "prompt_tokens": turn.prompt_tokens}
        yield _event("ModelCallEvent", clock, call)
        response = {name: usage[name] for name in ("completion_tokens", "total_tokens")}
        yield _event("ModelResponseEvent", clock, {"timestamp": clock.isoformat()} | response)
        steps: list[StepRow | None] = [*steps_of.get(turn.turn, [])]
        for step in steps or [None]:  # its block did not run: it has no code, and is not among `num_steps`
            clock += timedelta(seconds=step.execution_seconds if step else 0.0)
            yield from _step_events(turn, step, clock)
    if episode.error_message:
        yield _event("ErrorEvent", finished_at, {"error": episode.error_message})
    if episode.finish_reason is not FinishReason.TIMEOUT:
        usage = _usage(episode.prompt_tokens, episode.completion_tokens)
        yield _event("FinishEvent", finished_at, {"reason": episode.finish_reason.value, "token_usage": usage})


def _step_events(turn: TurnRow, step: StepRow | None, clock: datetime) -> Iterator[dict[str, Any]]:
    outcome = _outcome(step, turn.observation)
    if outcome["error"]:
        yield _event("ErrorEvent", clock, {"error": outcome["error"]})
    data = {
        "turn": turn.turn - 1,
        "assistant_text": turn.assistant_text,
        "code": step.code if step else None,
        "interpreter_result": outcome,
        "token_usage": _usage(turn.prompt_tokens, turn.completion_tokens),
    }
    yield _event("StepEvent", clock, data)


def _outcome(step: StepRow | None, observation: str | None) -> dict[str, Any]:
    if step is None:
        error = read_outcome(observation or "").error or NO_BLOCK
        return {"success": False, "result": None, "output": "", "error": error}
    return {"success": step.error is None, "result": step.result, "output": step.output, "error": step.error}


def _event(kind: str, at: datetime, data: dict[str, Any]) -> dict[str, Any]:
    return {"type": kind, "data": data, "timestamp": at.isoformat()}


def _usage(prompt_tokens: int, completion_tokens: int) -> dict[str, int]:
    return {
        "prompt_tokens": prompt_tokens,
        "completion_tokens": completion_tokens,
        "total_tokens": prompt_tokens + completion_tokens,
    }


def _dump(document: dict[str, Any]) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
