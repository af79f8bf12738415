"""Rows of foreign episodes, counted from code and text."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, get_origin

from carryover.tasks.agent.reply import read_reply
from carryover.tasks.knapsack.environment import TOOL_NAMES
from carryover.tasks.readers.ending import ending_of
from carryover.tasks.readers.import_setting import ImportSetting
from carryover.tasks.readers.layouts.authors import LAYOUT as AUTHORS_LAYOUT
from carryover.tasks.readers.outputs import error_type, missing_name
from carryover.tasks.readers.trace import Block, Reply, Trace
from carryover.tasks.traces.events import name_event_rows, parse_block
from carryover.tasks.traces.rows import HARMLESS_ERRORS, EpisodeRow, ErrorRow, NameEventRow, Row, StepRow, TurnRow
from carryover.tasks.traces.vocabulary import FOREIGN_FAMILY, PAPER_FAMILY, ContractName, ErrorKind
from carryover.tasks.traces.walker import ParsedBlock

_TOOL_ERRORS = ("ToolRuntimeException", "ToolInvocationException")
_CAP_ERROR = HARMLESS_ERRORS[1]
_MISSING_NAME = ("nameerror", "unboundlocalerror", "is not defined")
_ABSENT = {bool: False, int: 0, float: 0.0}
_UNRECORDED = {
    "active_globals", "attempt", "cached_prompt_tokens", "decoding_seed", "executed_call_count", "execution_seconds",
    "injected_fault", "injected_fault_count", "is_caught", "is_contract_verified", "is_injected",
    "is_out_of_distribution", "model_digest", "model_seconds", "replicate", "state_hash", "training_seed",
    "training_tokens",
}  # fmt: skip
"""Columns that foreign recordings may lack."""
_EPISODE_COLUMNS = frozenset(EpisodeRow.model_fields)


class ImportedRows(NamedTuple):
    """The rows of one imported episode."""

    episode: EpisodeRow
    turns: tuple[TurnRow, ...]
    steps: tuple[StepRow, ...]
    name_events: tuple[NameEventRow, ...]
    errors: tuple[ErrorRow, ...]

    def tables(self) -> dict[str, tuple[EpisodeRow | TurnRow | StepRow | NameEventRow | ErrorRow, ...]]:
        """Return the rows by table, as a landing zone takes them."""
        rows = self._asdict()
        return {EpisodeRow.TABLE: (rows.pop("episode"),), **rows}


def import_trace(trace: Trace, setting: ImportSetting, *, instance_id: str | None = None) -> ImportedRows:
    """Return a foreign episode as rows, with a digest as id.

    The text is the opening messages and every reply with its output and error, beside instance and start: recordings
    that differ only in how they ended, or in the names that they list, are one episode.
    Times of single turns are not in such recordings, so those columns are empty, and so are the names alive between
    blocks where nothing tells them: a step's `state_event` is `unknown` then. A stateless contract tells them: none.
    """
    instance = instance_id or trace.instance_id or trace.trace_id
    ids = {"run_id": setting.run_id, "episode_id": _episode_id(trace, setting, instance)}
    contract = trace.runtime_contract or setting.runtime_contract
    rows = _RowsOfReplies(ids, is_stateless=contract in (ContractName.STATELESS, ContractName.INJECTED))
    for turn, reply in enumerate(trace.replies, start=1):
        rows.add(turn, reply)
    opening = json.dumps([message._asdict() for message in trace.opening])
    first = _turn(ids, 0, Reply("", observation=opening))
    return ImportedRows(
        episode=_episode(ids, trace, rows.steps, setting, instance),
        turns=(first, *(_turn(ids, turn, reply) for turn, reply in enumerate(trace.replies, start=1))),
        steps=tuple(rows.steps),
        name_events=tuple(rows.events),
        errors=tuple(rows.errors),
    )


class _RowsOfReplies:
    """The rows of an episode's blocks and errors, reply by reply."""

    def __init__(self, ids: dict[str, str], *, is_stateless: bool) -> None:
        self.steps: list[StepRow] = []
        self.errors: list[ErrorRow] = []
        self.events: list[NameEventRow] = []
        self._ids = ids
        self._is_stateless = is_stateless
        self._alive: tuple[str, ...] = ()

    def add(self, turn: int, reply: Reply) -> None:
        """Add the rows of a reply."""
        listed = _last_step_globals(reply.observation)
        errors: list[tuple[int | None, str]] = [] if reply.error is None else [(None, reply.error)]
        for index, block in enumerate(reply.blocks):
            is_last = index == len(reply.blocks) - 1
            self._add_step(turn, block, listed if is_last else None)
            if block.error:
                errors.append((len(self.steps), block.error))
        for index, (step, error) in enumerate(errors):
            place = {**self._ids, "turn": turn, "step": step, "error_index": index}
            self.errors.append(_error(place, error, is_model_error=reply.is_model_error))

    def _add_step(self, turn: int, block: Block, listed: tuple[str, ...] | None) -> None:
        parsed = parse_block(block.code, TOOL_NAMES)
        after = () if self._is_stateless else listed
        place = {**self._ids, "turn": turn, "step": len(self.steps) + 1}
        known = place | {"active_globals_before": self._alive, "last_step_globals": listed or ()}
        self.steps.append(_step(known, block, parsed, after))
        self.events += name_event_rows(parsed, **self._ids, step=len(self.steps), active_globals_before=self._alive)
        self._alive = after or ()


def error_kind(error: str) -> ErrorKind:
    """Return an error's origin by phrases of arXiv 2603.01209's harness."""
    if _CAP_ERROR in error:
        return ErrorKind.CAP
    if any(name in error for name in _TOOL_ERRORS):
        return ErrorKind.TOOL
    return ErrorKind.INTERPRETER


def _episode_id(trace: Trace, setting: ImportSetting, instance_id: str) -> str:
    content = [
        setting.model_dump(mode="json", exclude={"run_id"}),
        instance_id,
        trace.trace_id,
        trace.started_at.isoformat(),
        [list(message) for message in trace.opening],
        [[reply.text, reply.error, [block[:3] for block in reply.blocks]] for reply in trace.replies],
        sorted((key, str(value)) for key, value in trace.columns.items()),
    ]
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:24]


def _last_step_globals(observation: str) -> tuple[str, ...] | None:
    """Return the header's names (arXiv 2603.01209, listing 1), or null."""
    if '"runtime_state"' not in observation:
        return None
    try:
        content = json.loads(observation)
    except ValueError:
        return None
    header = None
    if isinstance(content, dict):
        header = content.get("runtime_state")
    names = None
    if isinstance(header, dict):
        names = header.get("last_step_globals")
    if isinstance(names, list):
        return tuple(map(str, names))
    return None


def _episode(
    ids: dict[str, str], trace: Trace, steps: Sequence[StepRow], setting: ImportSetting, instance_id: str
) -> EpisodeRow:
    contract = trace.runtime_contract or setting.runtime_contract
    ending = ending_of(trace)
    declared = {name: value for name, value in trace.columns.items() if name in _EPISODE_COLUMNS}
    return _row(
        EpisodeRow,
        {
            **setting.model_dump(),
            "base": setting.episode_base,
            "split": setting.episode_split,
            "visibility": "declared",
            "header": "names",
            "model_name": setting.choose_model(trace.model_name),
            "family": _family_of(trace, setting),
            "is_solved": trace.score == 1.0,
            **declared,
            **ids,
        },
        plan_digest=setting.plan,
        instance_id=instance_id,
        train_contract=trace.train_contract or setting.train_contract,
        runtime_contract=contract,
        shown_contract=trace.declared_contract or contract,
        finish_reason=ending.reason,
        error_message=trace.error_message or ending.foreign_word,
        score=trace.score,
        started_at=trace.started_at,
        wall_seconds=trace.wall_seconds,
        prompt_tokens=_tokens(trace.prompt_tokens, [reply.prompt_tokens for reply in trace.replies]),
        completion_tokens=_tokens(trace.completion_tokens, [reply.completion_tokens for reply in trace.replies]),
        turn_count=len(trace.replies),
        step_count=len(steps),
        call_site_count=sum(step.call_site_count for step in steps),
        token_source="imported",
        contract_json=json.dumps({"contract": contract, "source": "import", "layout": trace.layout}),
        sandbox_level="unknown",
        backend="imported",
    )


def _family_of(trace: Trace, setting: ImportSetting) -> str:
    """Return the family of a trace that declares none."""
    if setting.family is not None:
        return setting.family
    if setting.scale == "paper" or trace.layout == AUTHORS_LAYOUT:
        return PAPER_FAMILY
    return FOREIGN_FAMILY


def _tokens(given: int | None, of_replies: list[int]) -> int:
    if given is None:
        return sum(of_replies)
    return given


def _turn(ids: dict[str, str], turn: int, reply: Reply) -> TurnRow:
    return _row(
        TurnRow,
        ids,
        turn=turn,
        assistant_text=reply.text,
        observation=reply.observation or None,
        prompt_tokens=reply.prompt_tokens,
        completion_tokens=reply.completion_tokens,
        block_count=max(read_reply(reply.text).block_count, len(reply.blocks)),
        has_system_note="system_note" in reply.observation and turn > 0,
        model_finish_reason="" if turn == 0 else "stop",
        last_step_globals=(),
    )


def _step(place: dict[str, Any], block: Block, parsed: ParsedBlock, alive: tuple[str, ...] | None) -> StepRow:
    return _row(
        StepRow,
        {**parsed._asdict(), **place},
        code=block.code,
        output=block.output or "",
        result=block.result,
        error=block.error,
        error_kind=error_kind(block.error) if block.error else None,
        error_type=error_type(block.error) if block.error else None,
        active_globals=alive or (),
        state_event="unknown" if alive is None else "kept",
    )


def _error(place: dict[str, Any], error: str, *, is_model_error: bool) -> ErrorRow:
    without_step = ErrorKind.MODEL if is_model_error else ErrorKind.PROTOCOL
    kind = without_step if place["step"] is None else error_kind(error)
    names_it = missing_name(error) is not None or any(phrase in error.lower() for phrase in _MISSING_NAME)
    return _row(
        ErrorRow,
        place,
        kind=kind,
        error_type=error_type(error),
        message=error,
        is_missing_name=kind is ErrorKind.INTERPRETER and names_it,
    )


def _row(model: type[Row], known: Mapping[str, Any], **values: Any) -> Any:
    """Return a row of these values, defaults for unrecorded columns.

    A column of `_UNRECORDED` is 0, empty or null.
    """
    columns = {**known, **values}
    for name, field in model.model_fields.items():
        if name in _UNRECORDED and name not in columns:
            columns[name] = () if get_origin(field.annotation) is tuple else _ABSENT.get(field.annotation)
    return model(**{name: value for name, value in columns.items() if name in model.model_fields})
