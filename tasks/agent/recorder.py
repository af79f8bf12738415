"""Rows of an episode, built as it goes: also what raised each error, and whether the harness injected it."""

import json
import re
from collections import Counter
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from carryover.tasks.agent.protocol import Completion
from carryover.tasks.agent.reply import Reply
from carryover.tasks.knapsack.environment import TOOL_NAMES, UNAVAILABLE
from carryover.tasks.runtime.results import BlockError, BlockResult
from carryover.tasks.traces.events import name_event_rows, parse_block
from carryover.tasks.traces.rows import (
    EPISODE_TABLES,
    EpisodeRow,
    ErrorRow,
    NameEventRow,
    Row,
    RuntimeEventRow,
    StepRow,
    ToolCallRow,
    TurnRow,
)
from carryover.tasks.traces.vocabulary import ErrorKind

MISSING_NAME_TYPES = ("NameError", "UnboundLocalError")
"""With `is not defined` in the message, the signs of a missing name (arXiv 2603.01209, D.1)."""
_SPENT = ("prompt_tokens", "cached_prompt_tokens", "completion_tokens", "model_seconds")
_SUMS = (
    *("turn_count", "step_count", "call_site_count", "executed_call_count", "injected_fault_count"),
    *_SPENT,
    "execution_seconds",
)
_OF_RESULT = ("output", "result", "active_globals", "last_step_globals", "state_event", "state_hash")
_NAME_IN_MESSAGE = re.compile(r"name '(\w+)' is not defined")


class RecordedEpisode(NamedTuple):
    """An episode that has ended, as the rows of its tables."""

    episode: EpisodeRow
    turns: list[TurnRow]
    steps: list[StepRow]
    name_events: list[NameEventRow]
    tool_calls: list[ToolCallRow]
    errors: list[ErrorRow]
    runtime_events: list[RuntimeEventRow]
    stop: Exception | None = None
    """What must stop the run once the episode has landed: a reply that was paid for cannot be kept."""

    @property
    def rows(self) -> dict[str, list[Row]]:
        """All rows by table; every table of an episode is a key."""
        rows = ([self.episode], *self[1:-1])
        return {table.TABLE: list(content) for table, content in zip(EPISODE_TABLES, rows, strict=True)}


class TurnNames(NamedTuple):
    """User names alive after a turn under the contract in force, and those that existed when its block ended."""

    active_globals: tuple[str, ...] = ()
    last_step_globals: tuple[str, ...] = ()


class EpisodeRecorder:
    """Collects the rows of one episode and counts what the episode row sums up."""

    def __init__(self, run_id: str, episode_id: str, tools: Collection[str] = TOOL_NAMES) -> None:
        self._ids = {"run_id": run_id, "episode_id": episode_id}
        self.tools = tools
        """Names of host functions, whose call sites are counted."""
        self._turns: list[TurnRow] = []
        self._steps: list[StepRow] = []
        self._name_events: list[NameEventRow] = []
        self._tool_calls: list[ToolCallRow] = []
        self.errors: list[ErrorRow] = []
        self._error_counts = Counter[int]()
        self.dropped_names: set[str] = set()
        """User names that the harness removed and no block has bound again: that one is missing is injected."""
        self._runtime_events: list[RuntimeEventRow] = []
        self.counts: dict[str, Any] = dict.fromkeys(_SUMS, 0)
        """Fields of the episode row that are sums over turns and steps."""

    @property
    def token_count(self) -> int:
        """Prompt and completion tokens of the turns so far."""
        return self.counts["prompt_tokens"] + self.counts["completion_tokens"]

    def record_opening(self, messages_json: str) -> None:
        """Record the opening messages as turn 0."""
        self.record_turn(0, Reply(None, 0, ""), Completion("", "", 0, 0, 0, 0.0), observation=messages_json)

    def record_turn(
        self,
        turn: int,
        reply: Reply,
        completion: Completion,
        *,
        observation: str | None,
        seed: int | None = None,
        has_system_note: bool = False,
        names: TurnNames = TurnNames(),  # noqa: B008 - a named tuple
    ) -> None:
        """Record a reply and the observation that was sent after it, if one was."""
        self.counts["turn_count"] += turn > 0
        spent = {field: getattr(completion, field) for field in _SPENT}
        for field, amount in spent.items():
            self.counts[field] += amount
        self._turns.append(
            TurnRow(
                **self._ids,
                turn=turn,
                assistant_text=completion.text,
                observation=observation,
                block_count=reply.block_count,
                has_system_note=has_system_note,
                model_finish_reason=completion.finish_reason,
                decoding_seed=seed,
                is_replayed=completion.is_replayed,
                **spent,
                **names._asdict(),
            )
        )

    def record_wait(self, seconds: float) -> None:
        """Count model time that led to no reply."""
        self.counts["model_seconds"] += seconds

    def record_turn_error(
        self,
        turn: int,
        kind: ErrorKind,
        error_type: str,
        message: str,
        *,
        step: int | None = None,
        is_caught: bool = False,
        is_injected: bool = False,
    ) -> None:
        """Record an error of a turn; one without a step is why the turn ran no block."""
        is_missing_name = kind == ErrorKind.INTERPRETER and (
            error_type in MISSING_NAME_TYPES or "is not defined" in message.lower()
        )
        self.errors.append(
            ErrorRow(
                **self._ids,
                turn=turn,
                error_index=self._error_counts[turn],
                step=step,
                kind=kind,
                error_type=error_type,
                message=message,
                is_caught=is_caught,
                is_injected=is_injected,
                is_missing_name=is_missing_name and not is_injected,
                is_injected_missing_name=is_missing_name and is_injected,
            )
        )
        self._error_counts[turn] += 1

    def record_block_error(self, turn: int, step: int, error: BlockError, failing_tool: str | None) -> None:
        """Record the error that ended a block; what follows a dropped name or a failing tool was injected."""
        missing = _NAME_IN_MESSAGE.search(error.message)
        follows_drop = missing is not None and missing.group(1) in self.dropped_names
        follows_failure = failing_tool is not None and error.kind == "tool" and UNAVAILABLE in error.message
        kind, is_injected = ErrorKind(error.kind), follows_drop or follows_failure
        self.record_turn_error(turn, kind, error.type, error.message, step=step, is_injected=is_injected)

    def record_step(
        self, turn: int, code: str, result: BlockResult, active_before: tuple[str, ...], injected_fault: str | None
    ) -> None:
        """Record an executed block: the step, its name events, its tool calls and its errors.

        `active_before` are the user names alive after the step before; what was dropped since then is left out here.
        """
        kind, _, target = (injected_fault or "").partition(":")
        failing = target if kind == "fail" else None
        active_before = tuple(name for name in active_before if name not in self.dropped_names)
        parsed = parse_block(code, self.tools)
        self.counts["step_count"] += 1
        self.counts["call_site_count"] += parsed.call_site_count
        self.counts["executed_call_count"] += len(result.tool_calls)
        self.counts["injected_fault_count"] += injected_fault is not None
        self.counts["execution_seconds"] += result.seconds
        place = {**self._ids, "step": self.counts["step_count"]}
        error = result.error
        self._steps.append(
            StepRow(
                **place,
                turn=turn,
                code=code,
                **{name: getattr(result, name) for name in _OF_RESULT},
                **{name: getattr(parsed, name) for name in ("is_parsed", "import_count", "call_site_count")},
                error=None if error is None else error.message,
                error_kind=None if error is None else ErrorKind(error.kind),
                error_type=None if error is None else error.type,
                executed_call_count=len(result.tool_calls),
                active_globals_before=active_before,
                injected_fault=injected_fault,
                execution_seconds=result.seconds,
            )
        )
        self._name_events += name_event_rows(parsed, **place, active_globals_before=active_before)
        calls = [
            ToolCallRow(
                **place,
                call=number,
                is_injected=call.tool == failing and (call.error_message or "").endswith(UNAVAILABLE),
                **call._asdict(),
            )
            for number, call in enumerate(result.tool_calls, start=1)
        ]
        self._tool_calls += calls
        for call in calls:
            if call.error_type is not None and call.is_caught:  # one that it did not catch is the block's own
                kind = ErrorKind.CAP if call.error_type == "ToolCallLimitError" else ErrorKind.TOOL
                marks = {"is_caught": True, "is_injected": call.is_injected}
                self.record_turn_error(turn, kind, call.error_type, call.error_message or "", step=call.step, **marks)
        self.dropped_names.difference_update(result.last_step_globals)  # what is bound again is no longer missing
        if error is not None:
            for rule, name, line in error.violations:
                detail = json.dumps({"rule": rule, "line": line})
                self.record_runtime_event(place["step"], "policy_violation", name, detail)
            self.record_block_error(turn, place["step"], error, failing)

    def record_runtime_event(
        self, step: int, kind: str, name: str | None = None, detail_json: str | None = None
    ) -> None:
        """Record a change of the interpreter's state other than by a block."""
        events = self._runtime_events
        events.append(
            RuntimeEventRow(**self._ids, sequence=len(events), step=step, kind=kind, name=name, detail_json=detail_json)
        )

    def finish(self, fields: Mapping[str, Any], stop: Exception | None = None) -> RecordedEpisode:
        """Return the episode with its row, made of the counts and of `fields`."""
        return RecordedEpisode(
            EpisodeRow(**self._ids, **self.counts, **fields),
            self._turns,
            self._steps,
            self._name_events,
            self._tool_calls,
            self.errors,
            self._runtime_events,
            stop,
        )
