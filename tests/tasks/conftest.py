"""A runtime, and recorded teacher traces in a few words, as the Arrow tables that the landing zone gives."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.util import find_spec
from typing import Any, NamedTuple

import pyarrow as pa
import pytest

from carryover.storage.zone.schemas import arrow_schema, to_arrow
from carryover.tasks.runtime.backend import Runtime
from carryover.tasks.runtime.open import open_runtime
from carryover.tasks.runtime.runtime_spec import RuntimeSpec
from carryover.tasks.traces.rows import EpisodeRow, ErrorRow, Row, StepRow, TurnRow
from carryover.tasks.traces.vocabulary import ErrorKind, FinishReason

SYSTEMS = ("You write code.", "Names persist.", "Demonstrations.", "Tools.")


@dataclass
class Step:
    """A turn with its block; `code=None` for a turn without one."""

    code: str | None = "print(1)"
    output: str = "1\n"
    error: str | None = None
    text: str | None = None
    injected: str | None = None
    """`drop:NAME` or `fail:TOOL` as the step row has it."""
    error_is_injected: bool = False
    """Whether the error row says that the harness caused the error."""
    error_is_caught: bool = False


@dataclass
class Trace:
    """An episode; its steps end with finish() unless others are given."""

    episode_id: str = "episode"
    contract: str = "persistent"
    instance_id: str = "instance"
    score: float | None = 1.0
    steps: Sequence[Step] = field(default_factory=lambda: [Step("look()"), Step("finish()")])
    attempt: int = 0
    replicate: int = 0
    task: str = "Fill the knapsack."
    finish_reason: FinishReason = FinishReason.FINISH_TOOL


@dataclass
class Tables:
    """Recorded traces as Arrow tables."""

    episodes: pa.Table
    turns: pa.Table
    steps: pa.Table
    errors: pa.Table

    @property
    def all(self) -> tuple[pa.Table, pa.Table, pa.Table, pa.Table]:
        """The tables in the order of the arguments of `judge_traces` and `prepare_dataset`."""
        return self.episodes, self.turns, self.steps, self.errors


def _header(contract: str) -> dict[str, Any]:
    runtime = "persistent" if contract == "persistent" else "reset"
    return {"runtime": runtime, "active_globals": [], "last_step_globals": []}


def opening(trace: Trace) -> str:
    """Return the opening messages as turn 0 records them."""
    task = json.dumps({"task": trace.task, "runtime_state": _header(trace.contract)})
    messages = [{"role": "system", "content": text} for text in SYSTEMS] + [{"role": "user", "content": task}]
    return json.dumps(messages)


def _turn(trace: Trace, turn: int, text: str, observation: str | None, blocks: int) -> TurnRow:
    return TurnRow(
        run_id="run", episode_id=trace.episode_id, turn=turn, assistant_text=text, observation=observation,
        block_count=blocks, has_system_note=False, model_finish_reason="stop", prompt_tokens=10,
        cached_prompt_tokens=0, completion_tokens=5, decoding_seed=1, model_seconds=0.1, active_globals=(),
        last_step_globals=(),
    )  # fmt: skip


def _step(trace: Trace, number: int, turn: int, step: Step) -> StepRow:
    return StepRow(
        run_id="run", episode_id=trace.episode_id, step=number, turn=turn, code=step.code or "", output=step.output,
        result=None, error=step.error, error_kind=ErrorKind.INTERPRETER if step.error else None, error_type=None,
        is_parsed=True, import_count=0, call_site_count=0, executed_call_count=0, active_globals_before=(),
        active_globals=(), last_step_globals=(), state_event="kept", state_hash=None, injected_fault=step.injected,
        execution_seconds=0.1,
    )  # fmt: skip


def _error(trace: Trace, number: int, turn: int, step: Step) -> ErrorRow:
    return ErrorRow(
        run_id="run", episode_id=trace.episode_id, turn=turn, error_index=0, step=number, kind=ErrorKind.INTERPRETER,
        error_type="NameError", message=step.error or "", is_caught=step.error_is_caught,
        is_injected=step.error_is_injected, is_missing_name=False,
    )  # fmt: skip


def _episode(trace: Trace) -> EpisodeRow:
    return EpisodeRow(
        run_id="run", episode_id=trace.episode_id, plan_digest="plan", scale="smoke", purpose="teacher",
        variant="main", base="teacher", model_name="scripted", model_digest=None, train_contract=None,
        runtime_contract=trace.contract, shown_contract=trace.contract, visibility="declared", header="names",
        bucket="easy", split="train", is_out_of_distribution=False, instance_id=trace.instance_id, training_seed=None,
        replicate=trace.replicate, attempt=trace.attempt, tool_call_cap=25, max_turns=40,
        finish_reason=trace.finish_reason, score=trace.score, is_solved=trace.score == 1.0, value_taken=1,
        weight_taken=1, taken_count=1, inspected_count=1, turn_count=len(trace.steps), step_count=len(trace.steps),
        call_site_count=1, executed_call_count=1, prompt_tokens=10, cached_prompt_tokens=0, completion_tokens=5,
        token_source="training_tokenizer", training_tokens=None, injected_fault_count=0, model_seconds=0.1,
        execution_seconds=0.1, wall_seconds=0.2, started_at=datetime(2026, 1, 1, tzinfo=UTC), contract_json="{}",
        sandbox_level="none", backend="fork_tree", is_contract_verified=True, error_message=None,
    )  # fmt: skip


def _text(step: Step, number: int) -> str:
    if step.text is not None:
        return step.text
    return f"Thought {number}.\n" + (f"```python\n{step.code}\n```" if step.code else "No block.")


def _observation(trace: Trace, step: Step) -> str:
    body = {"success": step.error is None, "result": None, "output": step.output, "error": step.error}
    return json.dumps({"observation": body, "runtime_state": _header(trace.contract)})


def record(*traces: Trace) -> Tables:
    """Return the tables of traces."""
    rows: dict[str, list[Row]] = {"episodes": [], "turns": [], "steps": [], "errors": []}
    for trace in traces:
        rows["episodes"].append(_episode(trace))
        rows["turns"].append(_turn(trace, 0, "", opening(trace), 0))
        number = 0
        for turn, step in enumerate(trace.steps, start=1):
            observation = None if turn == len(trace.steps) else _observation(trace, step)
            rows["turns"].append(_turn(trace, turn, _text(step, turn), observation, int(step.code is not None)))
            if step.code is not None:
                number += 1
                rows["steps"].append(_step(trace, number, turn, step))
                rows["errors"] += [_error(trace, number, turn, step)] if step.error else []
    return Tables(
        **{table: to_arrow(found) if found else arrow_schema(table).empty_table() for table, found in rows.items()}
    )


class TraceFactory(NamedTuple):
    """What tests of training data build their inputs with."""

    trace: type[Trace] = Trace
    step: type[Step] = Step
    record: Callable[..., Tables] = record
    systems: tuple[str, ...] = SYSTEMS


@pytest.fixture(scope="session")
def traces() -> TraceFactory:
    """The factory of recorded traces."""
    return TraceFactory()


@pytest.fixture(scope="session")
def runtime() -> Iterator[Runtime]:
    """A fork tree at the best sandbox level of the machine."""
    runtime = open_runtime(RuntimeSpec())
    yield runtime
    runtime.close()


@pytest.fixture(scope="module", autouse=True)
def new_warehouses_are_copies() -> Iterator[None]:
    """Merges begin new warehouses as copies of an empty one; the core's environment has no warehouse."""
    if find_spec("duckdb") is None:
        yield
        return
    from tests.empty_warehouse import copied_warehouses

    with copied_warehouses():
        yield
