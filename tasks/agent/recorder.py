"""Rows of an episode, made of its events as they come."""

import json
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from carryover.tasks.agent.events import Acted, Asked, Compacted, Event, Observed, Replied, Unanswered
from carryover.tasks.agent.faults import UNAVAILABLE
from carryover.tasks.agent.protocol import Completion, Message
from carryover.tasks.agent.reply import Reply
from carryover.tasks.runtime.interpreter import Interpreter
from carryover.tasks.runtime.results import BlockError, BlockResult, ToolCall
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
    """User names alive after a turn, and those at its block's end."""

    active_globals: tuple[str, ...] = ()
    last_step_globals: tuple[str, ...] = ()


class EpisodeRecorder:
    """Collects the rows of one episode: give it every event with `watch`.

    A turn is recorded with all that followed its reply, so only when the next reply comes or the episode has ended.
    """

    def __init__(self, run_id: str, episode_id: str, tools: Collection[str] = ()) -> None:
        self._ids = {"run_id": run_id, "episode_id": episode_id}
        self.tools = tools
        """Names of host functions, whose call sites are counted."""
        self.names = TurnNames()
        """User names after the last block; unchanged by a turn without one."""
        self._turn = 0
        self._pending: Replied | None = None
        self._told: str | None = None
        """The user message that followed that reply."""
        self._has_note = False
        self._verified_count = 0
        self._dropped_names: set[str] = set()
        """User names that the harness removed and no block has bound again: that one is missing is injected."""
        self._interpreter: Interpreter | None = None
        self._event_count = 0
        self.counts: dict[str, Any] = dict.fromkeys(_SUMS, 0)
        """Fields of the episode row that are sums over turns and steps."""
        self._turns: list[TurnRow] = []
        self._steps: list[StepRow] = []
        self._name_events: list[NameEventRow] = []
        self._tool_calls: list[ToolCallRow] = []
        self.errors: list[ErrorRow] = []
        self._error_counts = Counter[int]()
        self._runtime_events: list[RuntimeEventRow] = []

    def follow(self, interpreter: Interpreter, *, skips: int = 0) -> None:
        """Record an interpreter's runtime events, without the first `skips`."""
        self._interpreter = interpreter
        self._event_count = skips

    def record_opening(self, messages: Sequence[Message]) -> None:
        """Record the messages before the first reply as turn 0."""
        opening = json.dumps([message.model_dump() for message in messages], ensure_ascii=False)
        self._add_turn(0, Reply(None, 0, ""), Completion("", "", 0, 0, 0, 0.0), opening, seed=None)

    def watch(self, event: Event) -> None:
        """Record an event of the episode."""
        match event:
            case Asked(text):
                self._told = text
            case Replied():
                self._record_turn()
                self._turn += 1
                self._pending = event
            case Unanswered():
                self._record_unanswered(event)
            case Observed():
                self._record_observation(event)
            case Compacted():
                self._record_compaction(event)

    def finish(self, fields: Mapping[str, Any], stop: Exception | None = None) -> RecordedEpisode:
        """Return the episode with its row: counts and given `fields`."""
        self._record_turn()
        self.record_runtime_events()
        step_count = self.counts["step_count"]
        counted = {**self.counts, "is_contract_verified": 0 < step_count == self._verified_count}
        return RecordedEpisode(
            EpisodeRow(**{**self._ids, **counted, **fields}),
            self._turns,
            self._steps,
            self._name_events,
            self._tool_calls,
            self.errors,
            self._runtime_events,
            stop,
        )

    def record_runtime_events(self) -> None:
        """Record what has happened to the interpreter since the last call."""
        if self._interpreter is None:
            return
        events = self._interpreter.events
        for step, kind, name, detail in events[self._event_count :]:
            self._add_runtime_event(step, kind, name, None if detail is None else json.dumps(detail))
        self._event_count = len(events)

    def record_block_error(
        self, turn: int, step: int, error: BlockError, *, failing_tool: str | None = None
    ) -> ErrorRow:
        """Record the error that ended a block, and whether it was injected."""
        missing = _NAME_IN_MESSAGE.search(error.message)
        follows_drop = missing is not None and missing.group(1) in self._dropped_names
        follows_failure = failing_tool is not None and error.kind == "tool" and UNAVAILABLE in error.message
        is_injected = follows_drop or follows_failure
        return self._add_error(
            turn, ErrorKind(error.kind), error.type, error.message, step=step, is_injected=is_injected
        )

    def _record_turn(self) -> None:
        """Record the pending reply with the message that followed it."""
        if self._pending is not None:
            reply, completion, seed = self._pending
            self._add_turn(self._turn, reply, completion, self._told, seed=seed, has_note=self._has_note)
        self._told = None
        self._has_note = False

    def _record_unanswered(self, event: Unanswered) -> None:
        self.counts["model_seconds"] += event.seconds
        if not isinstance(event.error, TimeoutError):
            name = type(event.error).__name__
            self._add_error(self._turn + 1, ErrorKind.MODEL, name, str(event.error))

    def _record_observation(self, event: Observed) -> None:
        if event.refusal is not None:
            kind, name, text = event.refusal
            self._add_error(self._turn, kind, name, text)
        if event.acted is not None:
            self.record_runtime_events()
            self._record_step(event.acted)
        self._told = event.text
        self._has_note = event.has_note

    def _record_compaction(self, event: Compacted) -> None:
        assert self._interpreter is not None, "only a conversation with an interpreter is compacted"
        step = self._interpreter.journal().step_count
        self._add_runtime_event(step, "compact", None, json.dumps(event._asdict()))

    def _record_step(self, acted: Acted) -> None:
        """Record an executed block with its names, calls and errors."""
        self._dropped_names.update(acted.dropped_names)
        active_before = tuple(name for name in self.names.active_globals if name not in self._dropped_names)
        failing = _failing_tool(acted.injected_fault)
        self._add_step(acted, active_before)
        step = self.counts["step_count"]
        calls = [self._call_row(step, number, call, failing) for number, call in enumerate(acted.result.tool_calls, 1)]
        self._tool_calls += calls
        for call in calls:
            self._record_call_error(call)
        self._dropped_names.difference_update(acted.result.last_step_globals)  # bound again, so no longer missing
        if acted.result.error is not None:
            self._record_violations(step, acted.result.error)
            self.record_block_error(self._turn, step, acted.result.error, failing_tool=failing)
        self.names = TurnNames(acted.result.active_globals, acted.result.last_step_globals)
        self._verified_count += acted.is_verified

    def _add_step(self, acted: Acted, active_before: tuple[str, ...]) -> None:
        result = acted.result
        parsed = parse_block(acted.code, self.tools)
        self._count_step(acted, call_site_count=parsed.call_site_count)
        place = {**self._ids, "step": self.counts["step_count"]}
        self._steps.append(
            StepRow(
                **place,
                turn=self._turn,
                code=acted.code,
                **{name: getattr(result, name) for name in _OF_RESULT},
                **{name: getattr(parsed, name) for name in ("is_parsed", "import_count", "call_site_count")},
                **_error_columns(result),
                executed_call_count=len(result.tool_calls),
                active_globals_before=active_before,
                injected_fault=acted.injected_fault,
                execution_seconds=result.seconds,
            )
        )
        self._name_events += name_event_rows(parsed, **place, active_globals_before=active_before)

    def _count_step(self, acted: Acted, *, call_site_count: int) -> None:
        self.counts["step_count"] += 1
        self.counts["call_site_count"] += call_site_count
        self.counts["executed_call_count"] += len(acted.result.tool_calls)
        self.counts["injected_fault_count"] += acted.injected_fault is not None
        self.counts["execution_seconds"] += acted.result.seconds

    def _call_row(self, step: int, number: int, call: ToolCall, failing: str | None) -> ToolCallRow:
        is_injected = call.tool == failing and (call.error_message or "").endswith(UNAVAILABLE)
        return ToolCallRow(**self._ids, step=step, call=number, is_injected=is_injected, **call._asdict())

    def _record_call_error(self, call: ToolCallRow) -> None:
        """Record an error that the block caught.

        An uncaught error is the block's own.
        """
        if call.error_type is None or not call.is_caught:
            return
        is_cap = call.error_type == "ToolCallLimitError"
        self._add_error(
            self._turn,
            ErrorKind.CAP if is_cap else ErrorKind.TOOL,
            call.error_type,
            call.error_message or "",
            step=call.step,
            is_caught=True,
            is_injected=call.is_injected,
        )

    def _record_violations(self, step: int, error: BlockError) -> None:
        for rule, name, line in error.violations:
            self._add_runtime_event(step, "policy_violation", name, json.dumps({"rule": rule, "line": line}))

    def _add_turn(
        self,
        turn: int,
        reply: Reply,
        completion: Completion,
        observation: str | None,
        *,
        seed: int | None,
        has_note: bool = False,
    ) -> None:
        self.counts["turn_count"] += turn > 0
        spent = {field: getattr(completion, field) for field in _SPENT}
        for field, amount in spent.items():
            self.counts[field] += amount
        self._turns.append(
            TurnRow(
                **self._ids,
                turn=turn,
                assistant_text=_said(completion),
                observation=observation,
                block_count=reply.block_count,
                has_system_note=has_note,
                model_finish_reason=completion.finish_reason,
                decoding_seed=seed,
                is_replayed=completion.is_replayed,
                **spent,
                **self.names._asdict(),
            )
        )

    def _add_error(
        self,
        turn: int,
        kind: ErrorKind,
        error_type: str,
        message: str,
        *,
        step: int | None = None,
        is_caught: bool = False,
        is_injected: bool = False,
    ) -> ErrorRow:
        """Record an error; without a step, the turn ran no block."""
        names_missing = error_type in MISSING_NAME_TYPES or "is not defined" in message.lower()
        is_missing_name = kind == ErrorKind.INTERPRETER and names_missing
        row = ErrorRow(
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
        self.errors.append(row)
        self._error_counts[turn] += 1
        return row

    def _add_runtime_event(self, step: int, kind: str, name: str | None, detail_json: str | None) -> None:
        sequence = len(self._runtime_events)
        self._runtime_events.append(
            RuntimeEventRow(**self._ids, sequence=sequence, step=step, kind=kind, name=name, detail_json=detail_json)
        )


def _failing_tool(injected_fault: str | None) -> str | None:
    """Return the tool of a fault `fail:TOOL`."""
    kind, _, target = (injected_fault or "").partition(":")
    if kind == "fail":
        return target
    return None


def _error_columns(result: BlockResult) -> dict[str, Any]:
    error = result.error
    if error is None:
        return {"error": None, "error_kind": None, "error_type": None}
    return {"error": error.message, "error_kind": ErrorKind(error.kind), "error_type": error.type}


def _said(completion: Completion) -> str:
    """Return a reply's text, followed by its native calls as JSON."""
    if not completion.tool_calls:
        return completion.text
    calls = json.dumps([[call.name, call.arguments_json] for call in completion.tool_calls])
    if completion.text:
        return f"{completion.text}\n{calls}"
    return calls
