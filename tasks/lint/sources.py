"""Traces for the lint: our rows, chat JSONL, Parquet with `messages`, the authors' JSON, ATIF."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from carryover.tasks.datasets.validation import Frame, lazy
from carryover.tasks.lint.chat_records import chat_records, parse_json, text_of
from carryover.tasks.lint.trace import CodeTrace, ExecutedBlock, contract_name, trace_of_replies
from carryover.tasks.running.errors import UserError

_ID_FIELDS = ("episode_id", "trace_id", "id", "task_id")
_CONTRACT_FIELDS = ("shown_contract", "contract", "runtime_contract", "runtime")


def traces_of_rows(episodes: Frame, turns: Frame, steps: Frame) -> Iterator[CodeTrace]:
    """Yield our own episodes as traces, ordered by id; the declared contract is the one that the model was shown."""
    # read once: what stands behind a lazy frame may not bear several readers at a time
    told = lazy(turns).select("episode_id", "turn", "assistant_text", pl.col("observation").fill_null("")).cache()
    replies = (
        told.filter(pl.col("turn") > 0)
        .sort("episode_id", "turn")
        .group_by("episode_id", maintain_order=True)
        .agg("assistant_text")
    )
    blocks = (
        lazy(steps)
        .select("episode_id", "step", "turn", "code")
        .join(told.select("episode_id", "turn", "observation"), on=["episode_id", "turn"], how="left")
        .sort("episode_id", "step")
        .group_by("episode_id", maintain_order=True)
        .agg("code", pl.col("observation").fill_null(""))
    )
    frame = (
        lazy(episodes)
        .select("episode_id", "shown_contract")
        .join(replies, on="episode_id", how="left")
        .join(blocks, on="episode_id", how="left")
        .sort("episode_id")
        .collect()
    )
    for episode_id, contract, texts, codes, observations in frame.iter_rows():
        executed = tuple(map(ExecutedBlock, codes or (), observations or ()))
        yield CodeTrace(episode_id, contract_name(contract), tuple(texts or ()), executed)


def read_traces(path: Path, declared_contract: str | None = None) -> Iterator[CodeTrace]:
    """Yield the traces of a file, or of every file of known kind in a folder.

    Args:
        path: `.jsonl` or `.parquet` with a chat in `messages` per record, or the authors' `.trace.json` (arXiv
            2603.01209's repository), or `.atif.json` as `carryover export` writes it.
        declared_contract: Contract of traces that name none themselves.

    Raises:
        UserError: The file is of no known kind, or not laid out as its name says.
    """
    if path.is_dir():
        for file in sorted(path.rglob("*")):
            if _reader(file) is not None:
                yield from read_traces(file, declared_contract)
        return
    reader = _reader(path)
    if reader is None:
        raise UserError(f"cannot lint {path}; it must be .jsonl or .parquet with `messages`, .trace.json or .atif.json")
    for trace in reader(path):
        yield trace if trace.declared_contract else trace._replace(declared_contract=contract_name(declared_contract))


def _reader(path: Path) -> Callable[[Path], Iterator[CodeTrace]] | None:
    if path.name.endswith(".trace.json"):
        return _authors_traces
    if path.name.endswith(".atif.json"):
        return _atif_traces
    return _chat_traces if path.suffix in (".jsonl", ".parquet") else None


def _chat_traces(path: Path) -> Iterator[CodeTrace]:
    for number, (_, record) in enumerate(chat_records(path), start=1):
        replies, observations = _replies(record["messages"])
        trace_id = next((str(record[field]) for field in _ID_FIELDS if record.get(field)), f"{path.stem}-{number}")
        contract = next((str(record[field]) for field in _CONTRACT_FIELDS if record.get(field)), None)
        yield trace_of_replies(trace_id, contract, replies, observations)


def _replies(messages: list[Mapping[str, Any]]) -> tuple[list[str], list[str]]:
    """Return the assistant messages, and after each what the next message of another role says."""
    replies, observations = [], []
    for message in messages:
        text = text_of(message)
        if message["role"] == "assistant":
            replies.append(text)
            observations.append("")
        elif observations:
            observations[-1] += text
    return replies, observations


def _authors_traces(path: Path) -> Iterator[CodeTrace]:
    document = parse_json(str(path), path.read_bytes())
    try:
        yield _authors_trace(path.name.removesuffix(".trace.json"), document)
    except (KeyError, TypeError, AttributeError) as error:
        raise UserError(
            f"{path} is not laid out as the repository of arXiv 2603.01209 does it: {type(error).__name__} {error}; "
            "give its trace files, or chats as .jsonl or .parquet"
        ) from error


def _authors_trace(trace_id: str, document: Mapping[str, Any]) -> CodeTrace:
    steps = [event["data"] for event in document["events"] if event["type"] == "StepEvent"]
    return CodeTrace(
        trace_id=trace_id,
        declared_contract=contract_name((document.get("contract") or {}).get("shown")),
        replies=tuple(step["assistant_text"] for step in steps),
        blocks=tuple(
            ExecutedBlock(step["code"], str((step["interpreter_result"] or {}).get("output") or ""))
            for step in steps
            if step["code"]
        ),
    )


def _atif_traces(path: Path) -> Iterator[CodeTrace]:
    document = parse_json(str(path), path.read_bytes())
    try:
        yield _atif_trace(document)
    except (KeyError, TypeError, AttributeError) as error:
        raise UserError(
            f"{path} is no ATIF trajectory: {type(error).__name__} {error}; "
            "give what `carryover export --to atif` writes"
        ) from error


def _atif_trace(document: Mapping[str, Any]) -> CodeTrace:
    """Return a trajectory as a trace; what a step's calls ran is their argument `code`."""
    steps = [step for step in document["steps"] if step["source"] == "agent"]
    blocks = [
        ExecutedBlock(call["arguments"]["code"], _results_of(step))
        for step in steps
        for call in step.get("tool_calls") or ()
        if "code" in call["arguments"]
    ]
    return CodeTrace(
        trace_id=str(document.get("trajectory_id") or document["session_id"]),
        declared_contract=contract_name((document.get("extra") or {}).get("shown_contract")),
        replies=tuple(text_of({"content": step["message"]}) for step in steps),
        blocks=tuple(blocks),
    )


def _results_of(step: Mapping[str, Any]) -> str:
    return "".join(text_of(result) for result in (step.get("observation") or {}).get("results") or ())
