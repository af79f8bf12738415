"""Traces for the lint from our rows and from foreign files: chat JSONL, Parquet with `messages`, the authors' JSON."""

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet

from tasks.lint.trace import CodeTrace, ExecutedBlock, contract_name, trace_of_replies
from tasks.running.errors import UserError
from tasks.sft.validation import Frame, lazy

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
            2603.01209's repository).
        declared_contract: Contract of traces that name none themselves.

    Raises:
        UserError: The file is of no known kind, or a record has no `messages`.
    """
    if path.is_dir():
        for file in sorted(path.rglob("*")):
            if _reader(file) is not None:
                yield from read_traces(file, declared_contract)
        return
    reader = _reader(path)
    if reader is None:
        raise UserError(f"cannot lint {path}; it must be .jsonl or .parquet with `messages`, or .trace.json")
    for trace in reader(path):
        yield trace if trace.declared_contract else trace._replace(declared_contract=contract_name(declared_contract))


def chat_records(path: Path) -> Iterator[Mapping[str, Any]]:
    """Yield the records of a chat data set, `.jsonl` or `.parquet`, each with a list `messages`.

    Raises:
        UserError: The file is of another kind, is not what its name says, or a record has no `messages`.
    """
    records = {".jsonl": _json_lines, ".parquet": _table_rows}.get(path.suffix)
    if records is None:
        raise UserError(f"cannot read {path} as a chat data set; it must be .jsonl or .parquet with `messages`")
    for number, record in enumerate(records(path), start=1):
        if not isinstance(record, dict) or not isinstance(record.get("messages"), list):
            found = ", ".join(record) if isinstance(record, dict) else type(record).__name__
            raise UserError(
                f"record {number} of {path} has no list `messages`, but {found or 'nothing'}; "
                "give a chat data set, one conversation per record"
            )
        yield record


def text_of(content: str | list[Mapping[str, Any]] | None) -> str:
    """Return the text of a message's content, which some data sets give in parts."""
    if isinstance(content, list):
        return "".join(str(part.get("text") or "") for part in content)
    return content or ""


def _reader(path: Path) -> Callable[[Path], Iterator[CodeTrace]] | None:
    if path.name.endswith(".trace.json"):
        return _authors_traces
    return _chat_traces if path.suffix in (".jsonl", ".parquet") else None


def _chat_traces(path: Path) -> Iterator[CodeTrace]:
    for number, record in enumerate(chat_records(path), start=1):
        replies, observations = _replies(record["messages"])
        trace_id = next((str(record[field]) for field in _ID_FIELDS if record.get(field)), f"{path.stem}-{number}")
        contract = next((str(record[field]) for field in _CONTRACT_FIELDS if record.get(field)), None)
        yield trace_of_replies(trace_id, contract, replies, observations)


def _replies(messages: list[Mapping[str, Any]]) -> tuple[list[str], list[str]]:
    """Return the assistant messages, and after each what the next message of another role says."""
    replies, observations = [], []
    for message in messages:
        text = text_of(message["content"])
        if message["role"] == "assistant":
            replies.append(text)
            observations.append("")
        elif observations:
            observations[-1] += text
    return replies, observations


def _json_lines(path: Path) -> Iterator[Any]:
    with path.open(encoding="utf-8") as file:
        yield from (_parse(path, line) for line in file if line.strip())


def _table_rows(path: Path) -> Iterator[Any]:
    try:
        table = pyarrow.parquet.ParquetFile(path)
    except pa.ArrowInvalid as error:
        raise UserError(f"{path} is not Parquet: {error}") from error
    for batch in table.iter_batches(batch_size=256):
        yield from batch.to_pylist()


def _parse(path: Path, text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise UserError(f"{path} is not JSON: {error}; found {text[:40]!r}") from error


def _authors_traces(path: Path) -> Iterator[CodeTrace]:
    document = _parse(path, path.read_text(encoding="utf-8"))
    steps = [event["data"] for event in document["events"] if event["type"] == "StepEvent"]
    yield CodeTrace(
        trace_id=path.name.removesuffix(".trace.json"),
        declared_contract=contract_name((document.get("contract") or {}).get("shown")),
        replies=tuple(step["assistant_text"] for step in steps),
        blocks=tuple(
            ExecutedBlock(step["code"], str(step["interpreter_result"].get("output") or ""))
            for step in steps
            if step["code"]
        ),
    )
