"""Rows of foreign episodes; every count is taken from their code and text."""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import takewhile
from typing import Any, NamedTuple, get_origin

from carryover.tasks.agent.protocol import Message
from carryover.tasks.agent.reply import parse_reply
from carryover.tasks.interchange.setting import ImportSetting
from carryover.tasks.knapsack.environment import TOOL_NAMES
from carryover.tasks.lint.trace import LintReply
from carryover.tasks.traces.events import name_event_rows, parse_block
from carryover.tasks.traces.rows import HARMLESS_ERRORS, EpisodeRow, ErrorRow, NameEventRow, Row, StepRow, TurnRow
from carryover.tasks.traces.vocabulary import ContractName, ErrorKind, FinishReason
from carryover.tasks.traces.walker import ParsedBlock

_TOOL_ERRORS = ("ToolRuntimeException", "ToolInvocationException")
_CAP_ERROR = HARMLESS_ERRORS[1]
_MISSING_NAME = ("nameerror", "unboundlocalerror", "is not defined")
_ABSENT = {bool: False, int: 0, float: 0.0}
_UNRECORDED = {
    "active_globals", "attempt", "cached_prompt_tokens", "decoding_seed", "error_index", "executed_call_count",
    "execution_seconds", "injected_fault", "injected_fault_count", "is_caught", "is_contract_verified", "is_injected",
    "is_out_of_distribution", "model_digest", "model_seconds", "replicate", "state_hash", "training_seed",
    "training_tokens",
}  # fmt: skip
"""Columns that no foreign recording has."""
_ERROR_TYPE = re.compile(r"^([A-Za-z_][\w.]*(?:Error|Exception|Warning|Interrupt|Exit|Died|Timeout))\b", re.MULTILINE)


class ImportedTurn(NamedTuple):
    """A reply with what running its block did, as far as the recording says."""

    assistant_text: str = ""
    code: str | None = None
    """The executed block; null if none ran."""
    output: str = ""
    result: str | None = None
    error: str | None = None
    observation: str | None = None
    """The user message that followed, where it was recorded."""
    last_step_globals: tuple[str, ...] | None = None
    """User names that existed when the block ended; null if they are unknown."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    is_model_error: bool = False
    """Whether there is no reply because the model call failed."""


class ImportedTrace(NamedTuple):
    """One foreign episode."""

    instance_id: str
    opening: tuple[Message, ...]
    turns: tuple[ImportedTurn, ...]
    finish_reason: FinishReason
    started_at: datetime = datetime(1970, 1, 1, tzinfo=UTC)
    """Start; 1970 where the recording names none."""
    wall_seconds: float = 0.0
    score: float | None = None
    is_solved: bool = False
    value_taken: int = 0
    weight_taken: int = 0
    taken_count: int = 0
    inspected_count: int = 0
    prompt_tokens: int | None = None
    """Tokens of the episode; the sum over turns by default."""
    completion_tokens: int | None = None
    runtime_contract: str | None = None
    """Contract that the recording declares."""
    train_contract: str | None = None
    error_message: str | None = None


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


def import_trace(trace: ImportedTrace, setting: ImportSetting) -> ImportedRows:
    """Return a foreign episode as rows; its id is a digest of its text and of the setting.

    The text is the opening messages and every reply with its output and error, beside instance and start: recordings
    that differ only in how they ended, or in the names that they list, are one episode.
    Times of single turns are not in such recordings, so those columns are empty, and so are the names alive between
    blocks where nothing tells them: a step's `state_event` is `unknown` then. A stateless contract tells them: none.
    """
    contract = trace.runtime_contract or setting.runtime_contract
    is_stateless = contract in (ContractName.STATELESS, ContractName.INJECTED)
    alive: tuple[str, ...] = ()
    content = [
        setting.model_dump(mode="json", exclude={"run_id"}),
        trace.instance_id,
        trace.started_at.isoformat(),
        [message.model_dump() for message in trace.opening],
        [[turn.assistant_text, turn.output, turn.error] for turn in trace.turns],
    ]
    episode_id = hashlib.sha256(json.dumps(content).encode()).hexdigest()[:24]
    ids = {"run_id": setting.run_id, "episode_id": episode_id}
    steps, errors, events = [], [], []
    for turn, recorded in enumerate(trace.turns, start=1):
        place = {**ids, "turn": turn, "step": None if recorded.code is None else len(steps) + 1}
        if recorded.code is not None:
            parsed = parse_block(recorded.code, TOOL_NAMES)
            after = () if is_stateless else recorded.last_step_globals
            steps.append(_step(place | {"active_globals_before": alive}, recorded, parsed, after))
            events += name_event_rows(parsed, **ids, step=len(steps), active_globals_before=alive)
            alive = after or ()
        if recorded.error:
            errors.append(_error(place, recorded, recorded.error))
    first = ImportedTurn(observation=json.dumps([message.model_dump() for message in trace.opening]))
    return ImportedRows(
        episode=_episode(ids, trace, steps, setting),
        turns=tuple(_turn(ids, turn, recorded) for turn, recorded in enumerate((first, *trace.turns))),
        steps=tuple(steps),
        name_events=tuple(events),
        errors=tuple(errors),
    )


def read_opening(told: Iterable[tuple[str, str]], agent: str) -> tuple[Message, ...]:
    """Return the messages, by role and text, before the first reply of the role `agent`."""
    before = takewhile(lambda message: message[0] != agent, told)
    return tuple(Message(role="system" if role == "system" else "user", content=text) for role, text in before)


def read_turn(reply: LintReply, code: str | None, **counts: int) -> ImportedTurn:
    """Return a reply and what followed it as a turn; `code` is the block that ran, `counts` its tokens."""
    told = read_observation(reply.observation) if reply.observation else ImportedTurn()
    return told._replace(assistant_text=reply.text, code=code, **counts)


def read_observation(observation: str) -> ImportedTurn:
    """Return a user message on a block as a turn without its reply.

    A JSON object, at its top or under `observation`, is read for `output`, `result` and `error`; any other text is the
    output. `runtime_state` beside it is the header of arXiv 2603.01209, listing 1.
    """
    try:
        content = json.loads(observation)
    except ValueError:
        content = None
    header = content.get("runtime_state") if isinstance(content, dict) else None
    names = header.get("last_step_globals") if isinstance(header, dict) else None
    if isinstance(content, dict) and isinstance(content.get("observation"), dict):
        content = content["observation"]
    if not isinstance(content, dict):
        return ImportedTurn(output=observation, observation=observation)
    result = content.get("result")
    return ImportedTurn(
        output=str(content.get("output") or ""),
        result=result if result is None or isinstance(result, str) else json.dumps(result),
        error=str(content["error"]) if content.get("error") else None,
        observation=observation,
        last_step_globals=tuple(map(str, names)) if isinstance(names, list) else None,
    )


def error_kind(error: str) -> ErrorKind:
    """Return where an error came from, by the phrases of arXiv 2603.01209's harness."""
    if _CAP_ERROR in error:
        return ErrorKind.CAP
    return ErrorKind.TOOL if any(name in error for name in _TOOL_ERRORS) else ErrorKind.INTERPRETER


def error_type(error: str) -> str:
    """Return the class name in the last exception line of a traceback; `Exception` where there is none."""
    found = _ERROR_TYPE.findall(error)
    return found[-1].rpartition(".")[2] if found else "Exception"


def _episode(ids: dict[str, str], trace: ImportedTrace, steps: Sequence[StepRow], setting: ImportSetting) -> EpisodeRow:
    contract = trace.runtime_contract or setting.runtime_contract
    values = setting.model_dump() | trace._asdict() | ids
    for tokens in ("prompt_tokens", "completion_tokens"):
        if values[tokens] is None:
            values[tokens] = sum(getattr(turn, tokens) for turn in trace.turns)
    return _row(
        EpisodeRow,
        values,
        plan_digest=setting.plan,
        base=setting.episode_base,
        train_contract=trace.train_contract or setting.train_contract,
        runtime_contract=contract,
        shown_contract=contract,
        visibility="declared",
        header="names",
        split=setting.episode_split,
        turn_count=len(trace.turns),
        step_count=len(steps),
        call_site_count=sum(step.call_site_count for step in steps),
        token_source="imported",
        contract_json=json.dumps({"contract": contract, "source": "import"}),
        sandbox_level="unknown",
        backend="imported",
    )


def _turn(ids: dict[str, str], turn: int, recorded: ImportedTurn) -> TurnRow:
    return _row(
        TurnRow,
        recorded._asdict() | ids,
        turn=turn,
        block_count=parse_reply(recorded.assistant_text).block_count,
        has_system_note="system_note" in (recorded.observation or "") and turn > 0,
        model_finish_reason="" if turn == 0 else "stop",
        last_step_globals=(),
    )


def _step(place: dict[str, Any], recorded: ImportedTurn, parsed: ParsedBlock, alive: tuple[str, ...] | None) -> StepRow:
    return _row(
        StepRow,
        recorded._asdict() | parsed._asdict() | place,
        error_kind=error_kind(recorded.error) if recorded.error else None,
        error_type=error_type(recorded.error) if recorded.error else None,
        active_globals=alive or (),
        last_step_globals=recorded.last_step_globals or (),
        state_event="unknown" if alive is None else "kept",
    )


def _error(place: dict[str, Any], recorded: ImportedTurn, error: str) -> ErrorRow:
    without_step = ErrorKind.MODEL if recorded.is_model_error else ErrorKind.PROTOCOL
    kind = without_step if recorded.code is None else error_kind(error)
    is_missing_name = kind is ErrorKind.INTERPRETER and any(phrase in error.lower() for phrase in _MISSING_NAME)
    return _row(
        ErrorRow, place, kind=kind, error_type=error_type(error), message=error, is_missing_name=is_missing_name
    )


def _row(model: type[Row], known: Mapping[str, Any], **values: Any) -> Any:
    """Return a row of these values, else of the known ones; a column of `_UNRECORDED` is 0, empty or null."""
    columns = {**known, **values}
    for name, field in model.model_fields.items():
        if name in _UNRECORDED and field.is_required() and name not in columns:
            columns[name] = () if get_origin(field.annotation) is tuple else _ABSENT.get(field.annotation)
    return model(**{name: value for name, value in columns.items() if name in model.model_fields})
