"""Logs of Recursive Language Models (`rlms`): metadata, then iterations."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from carryover.tasks.readers.outputs import read_outcome, text_of_parts
from carryover.tasks.readers.raised import answered
from carryover.tasks.readers.reader import Record, shared_name
from carryover.tasks.readers.trace import Block, Reply, Trace

LAYOUT = "an RLM log"
JOINS_RECORDS = True


def detect(record: Any) -> bool:
    """Tell whether a record is metadata, an iteration, or a run."""
    if not isinstance(record, Mapping):
        return False
    if isinstance(record.get("iterations"), list):
        return any(isinstance(each, Mapping) and "code_blocks" in each for each in record["iterations"][:1])
    is_metadata = record.get("type") == "metadata" and "root_model" in record
    return is_metadata or ("code_blocks" in record and ("response" in record or "iteration" in record))


def read(records: Sequence[Record]) -> Iterator[Trace]:
    """Yield a trace per line of metadata, all blocks run."""
    runs: list[list[Mapping[str, Any]]] = [[]]
    for record in records:
        content = record.content
        if content.get("type") == "metadata" and runs[-1]:
            runs.append([])
        runs[-1] += [content, *content["iterations"]] if "iterations" in content else [content]
    name = shared_name(records)
    for number, run in enumerate(runs, start=1):
        yield _trace(run, name if len(runs) == 1 else f"{name}-{number}")


def _trace(run: list[Mapping[str, Any]], name: str) -> Trace:
    iterations = [line for line in run if "code_blocks" in line]
    described = [line.get("run_metadata") or line for line in run]
    model = next((line["root_model"] for line in described if line.get("root_model")), None)
    has_answer = bool(iterations) and iterations[-1].get("final_answer") is not None
    return Trace(
        trace_id=name,
        replies=tuple(_reply(iteration) for iteration in iterations),
        model_name=model,
        finish_reason="answer" if has_answer else None,
    )


def _reply(iteration: Mapping[str, Any]) -> Reply:
    blocks = tuple(_block(found) for found in iteration["code_blocks"] or ())
    observation = "\n".join(block.output for block in blocks if block.output)
    return Reply(text_of_parts(iteration.get("response")), blocks, observation)


def _block(found: Mapping[str, Any]) -> Block:
    block = Block(found["code"])
    result = found.get("result")
    return block if result is None else answered(block, read_outcome(result))
