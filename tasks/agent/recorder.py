"""Rows of an episode, built as it goes."""

import json
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from carryover.tasks.agent.error_rows import ErrorRows, failing_tool, is_injected
from carryover.tasks.agent.protocol import Completion
from carryover.tasks.agent.reply import Reply
from carryover.tasks.knapsack.environment import TOOL_NAMES
from carryover.tasks.runtime.results import BlockResult
from carryover.tasks.traces.events import name_event_rows, parse_block
from carryover.tasks.traces.rows import (
    EPISODE_TABLES,
    EpisodeRow,
    ErrorKind,
    ErrorRow,
    NameEventRow,
    Row,
    RuntimeEventRow,
    StepRow,
    ToolCallRow,
    TurnRow,
)


class RecordedEpisode(NamedTuple):
    """An episode that has ended, as the rows of its tables."""

    episode: EpisodeRow
    turns: list[TurnRow]
    steps: list[StepRow]
    name_events: list[NameEventRow]
    tool_calls: list[ToolCallRow]
    errors: list[ErrorRow]
    runtime_events: list[RuntimeEventRow]

    @property
    def rows(self) -> dict[str, list[Row]]:
        """All rows by table; every table of an episode is a key."""
        rows = ([self.episode], *self[1:])
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
        self._errors = ErrorRows(run_id, episode_id)
        self._runtime_events: list[RuntimeEventRow] = []
        self.counts: dict[str, Any] = {
            "turn_count": 0,
            "step_count": 0,
            "call_site_count": 0,
            "executed_call_count": 0,
            "injected_fault_count": 0,
            "prompt_tokens": 0,
            "cached_prompt_tokens": 0,
            "completion_tokens": 0,
            "model_seconds": 0.0,
            "execution_seconds": 0.0,
        }
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
        fields = ("prompt_tokens", "cached_prompt_tokens", "completion_tokens", "model_seconds")
        spent = {field: getattr(completion, field) for field in fields}
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

    def record_turn_error(self, turn: int, kind: ErrorKind, error_type: str, message: str) -> None:
        """Record why a turn ran no block."""
        self._errors.add(turn, None, kind, error_type, message)

    def record_drop(self, name: str) -> None:
        """Remember that the harness removed a user name: what goes wrong without it was injected."""
        self._errors.dropped_names.add(name)

    def record_step(
        self, turn: int, code: str, result: BlockResult, active_before: tuple[str, ...], injected_fault: str | None
    ) -> None:
        """Record an executed block: the step, its name events, its tool calls and its errors.

        `active_before` are the user names alive after the step before; what was dropped since then is left out here.
        """
        dropped, failing = self._errors.dropped_names, failing_tool(injected_fault)
        active_before = tuple(name for name in active_before if name not in dropped)
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
                output=result.output,
                result=result.result,
                error=None if error is None else error.message,
                error_kind=None if error is None else ErrorKind(error.kind),
                error_type=None if error is None else error.type,
                is_parsed=parsed.is_parsed,
                import_count=parsed.import_count,
                call_site_count=parsed.call_site_count,
                executed_call_count=len(result.tool_calls),
                active_globals_before=active_before,
                active_globals=result.active_globals,
                last_step_globals=result.last_step_globals,
                state_event=result.state_event,
                state_hash=result.state_hash,
                injected_fault=injected_fault,
                execution_seconds=result.seconds,
            )
        )
        self._name_events += name_event_rows(parsed, **place, active_globals_before=active_before)
        calls = [
            ToolCallRow(**place, call=number, is_injected=is_injected(call, failing), **call._asdict())
            for number, call in enumerate(result.tool_calls, start=1)
        ]
        self._tool_calls += calls
        for call in calls:
            self._errors.add_of_call(turn, call)
        dropped.difference_update(result.last_step_globals)  # what is bound again is no longer missing
        if error is not None:
            for rule, name, line in error.violations:
                detail = json.dumps({"rule": rule, "line": line})
                self.record_runtime_event(place["step"], "policy_violation", name, detail)
            self._errors.add_of_block(turn, place["step"], error, failing)

    def record_runtime_event(
        self, step: int, kind: str, name: str | None = None, detail_json: str | None = None
    ) -> None:
        """Record a change of the interpreter's state other than by a block."""
        events = self._runtime_events
        events.append(
            RuntimeEventRow(**self._ids, sequence=len(events), step=step, kind=kind, name=name, detail_json=detail_json)
        )

    def finish(self, fields: Mapping[str, Any]) -> RecordedEpisode:
        """Return the episode with its row, made of the counts and of `fields`."""
        return RecordedEpisode(
            episode=EpisodeRow(**self._ids, **self.counts, **fields),
            turns=self._turns,
            steps=self._steps,
            name_events=self._name_events,
            tool_calls=self._tool_calls,
            errors=self._errors.rows,
            runtime_events=self._runtime_events,
        )
