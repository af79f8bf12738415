"""Traces for the lint: our rows, chat JSON lines or Parquet, the authors' JSON, ATIF."""

from collections.abc import Iterator
from pathlib import Path

from carryover.tasks.lint.chat_records import chat_records, read_json
from carryover.tasks.lint.trace import (
    CodeTrace,
    ExecutedBlock,
    atif_reply,
    chat_replies,
    contract_name,
    trace_of_replies,
)
from carryover.tasks.services.errors import UserError
from carryover.tasks.traces.frames import Frame, lazy

_ID_FIELDS = ("episode_id", "trace_id", "id", "task_id")
_CONTRACT_FIELDS = ("shown_contract", "contract", "runtime_contract", "runtime")


def traces_of_rows(episodes: Frame, turns: Frame, steps: Frame) -> Iterator[CodeTrace]:
    """Yield our own episodes as traces, ordered by id; the declared contract is the one that the model was shown."""
    linted = lazy(episodes).select("episode_id", "shown_contract").sort("episode_id").collect()
    turns_of, steps_of = (
        lazy(frame)
        .join(linted.lazy(), on="episode_id", how="semi")
        .sort(order)
        .select("episode_id", "turn", *texts)
        .collect()
        .rows_by_key("episode_id")
        for frame, order, *texts in ((turns, "turn", "assistant_text", "observation"), (steps, "step", "code"))
    )
    for episode_id, contract in linted.rows():
        told = turns_of.get(episode_id, ())
        replies = tuple(text for turn, text, _ in told if turn > 0)
        observation_of = {turn: observation or "" for turn, _, observation in told}
        blocks = (ExecutedBlock(code, observation_of.get(turn, "")) for turn, code in steps_of.get(episode_id, ()))
        yield CodeTrace(episode_id, contract_name(contract), replies, tuple(blocks))


def read_traces(path: Path, declared_contract: str | None = None) -> Iterator[CodeTrace]:
    """Yield the traces of a file, or of each file of a kind of `_READERS` in a folder; raise `UserError` for another.

    `declared_contract` is the contract of traces that name none themselves.
    """
    if not path.exists():
        raise UserError(f"no file {path}; name a trace file or a folder")
    if path.is_dir():
        for file in sorted(path.rglob("*")):
            if file.name.endswith(tuple(_READERS)):
                yield from read_traces(file, declared_contract)
        return
    ending = next(filter(path.name.endswith, _READERS), None)
    if ending is None:
        raise UserError(f"cannot lint {path}; it must be .jsonl or .parquet with `messages`, .trace.json or .atif.json")
    layout, read = _READERS[ending]
    try:
        for trace in read(path):
            declared = trace.declared_contract or contract_name(declared_contract)
            yield trace._replace(declared_contract=declared)
    except (KeyError, TypeError, AttributeError) as error:
        raise UserError(
            f"unsupported layout: {path} differs from {layout}: {type(error).__name__} {error}; "
            "leave it out, or give chats as .jsonl or .parquet"
        ) from error


def _chat_traces(path: Path) -> Iterator[CodeTrace]:
    for number, (_, record) in enumerate(chat_records(path), start=1):
        trace_id = next((str(record[field]) for field in _ID_FIELDS if record.get(field)), f"{path.stem}-{number}")
        contract = next((str(record[field]) for field in _CONTRACT_FIELDS if record.get(field)), None)
        yield trace_of_replies(trace_id, contract, chat_replies(record["messages"]))


def _authors_traces(path: Path) -> Iterator[CodeTrace]:
    document = read_json(path)
    steps = [event["data"] for event in document["events"] if event["type"] == "StepEvent"]
    yield CodeTrace(
        trace_id=path.name.removesuffix(".trace.json"),
        declared_contract=contract_name((document.get("contract") or {}).get("shown")),
        replies=tuple(step["assistant_text"] for step in steps),
        blocks=tuple(
            ExecutedBlock(step["code"], str((step["interpreter_result"] or {}).get("output") or ""))
            for step in steps
            if step["code"]
        ),
    )


def _atif_traces(path: Path) -> Iterator[CodeTrace]:
    """Yield a trajectory as a trace; what a step's calls ran is the source in their arguments."""
    document = read_json(path)
    replies = [atif_reply(step) for step in document["steps"] if step["source"] == "agent"]
    trace_id = str(document.get("trajectory_id") or document["session_id"])
    yield trace_of_replies(trace_id, (document.get("extra") or {}).get("shown_contract"), replies)


_READERS = {
    ".trace.json": ("the repository of arXiv 2603.01209", _authors_traces),
    ".atif.json": ("an ATIF trajectory", _atif_traces),
    ".jsonl": ("a chat data set", _chat_traces),
    ".parquet": ("a chat data set", _chat_traces),
}
"""Layout and reader by the ending of a file's name."""
