"""`carryover.lint`: findings about traces in any form."""

import ast
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from carryover.tasks.lint.lint import TraceLint, lint_traces
from carryover.tasks.lint.summary import LintSummary
from carryover.tasks.readers.reading import read_traces, read_value
from carryover.tasks.readers.source_code import FoundCode
from carryover.tasks.readers.tally import Tally
from carryover.tasks.readers.text_blocks import code_in_text
from carryover.tasks.readers.trace import Block, Trace, contract_name
from carryover.tasks.services.errors import UserError

_LONGEST_PATH = 4_096
_FILE_NAME = re.compile(
    r"\S*(?:/|\.(?:jsonl?|parquet|arrow|ipynb|eval|zip|gz|traj|md|txt|csv|ndjson))\S*", re.IGNORECASE
)


@dataclass(frozen=True)
class LintReport:
    """Findings about a source of traces."""

    traces: tuple[TraceLint, ...]
    summary: LintSummary
    unread: tuple[str, ...]
    """What was not read: a sentence per reason."""

    @property
    def verdict(self) -> str:
        """The finding as a sentence with numbers."""
        return self.summary.sentence()

    @property
    def is_stateless_safe(self) -> bool:
        """Whether every block of every trace stands on its own."""
        return all(lint.is_stateless_safe for lint in self.traces)

    def __str__(self) -> str:
        """Return the verdict."""
        return self.verdict


def lint(
    source: str | Path | Iterable[Any] | Mapping[str, Any],
    *,
    tools: Collection[str] | None = None,
    contract: str | None = None,
) -> LintReport:
    """Lint traces of any code agent.

    Args:
        source: A path of a file or folder in any layout that a reader knows, a text (a transcript whose blocks ran in
            turn, or one block of Python), a conversation (a list of messages or a record that holds them), or an
            iterable of these or of `Trace`s.
        tools: Names that the harness provides in every block; without them an unbound name counts as provided.
        contract: Contract of traces that declare none.

    Raises:
        UserError: The source is none of these, or no code was read in it.
    """
    tally = Tally()
    declared = contract_name(contract)
    summary = LintSummary()
    traces = (with_contract(trace, declared) for trace in traces_of(source, tally))
    found = tuple(summary.follow(lint_traces(traces, tools=tools)))
    refuse_without_code(summary, tally)
    return LintReport(found, summary, tuple(tally.sentences()))


def traces_of(source: Any, tally: Tally) -> Iterator[Trace]:
    """Yield traces of a path, text, messages or an iterable."""
    if isinstance(source, Trace):
        yield source
    elif isinstance(source, Path):
        yield from read_traces(source, tally)
    elif isinstance(source, str):
        yield from _traces_of_text(source, tally)
    elif isinstance(source, Mapping):
        yield from read_value(dict(source), tally)
    elif isinstance(source, Iterable) and not isinstance(source, bytes):
        yield from _traces_of_many(source, tally)
    else:
        raise UserError(f"cannot lint {type(source).__name__}; give a path, a text, messages or an iterable of traces")


def with_contract(trace: Trace, contract: str | None) -> Trace:
    """Return a trace with its declared contract, or the given one."""
    if trace.declared_contract is not None or contract is None:
        return trace
    return replace(trace, declared_contract=contract)


def refuse_without_code(summary: LintSummary, tally: Tally) -> None:
    """Raise `UserError` where no block was read, with the reasons."""
    if summary.block_count:
        return
    reasons = tally.sentences()
    if summary.without_code_count:
        reasons.append("no block, tag or call that runs code")
    why = "; ".join(reasons) or "nothing that a reader knows"
    raise UserError(f"no code found in {summary.trace_count} traces: {why}")


def _traces_of_text(text: str, tally: Tally) -> Iterator[Trace]:
    line = text.strip()
    may_be_path = bool(line) and "\n" not in line and len(line) < _LONGEST_PATH
    if may_be_path and Path(line).exists():
        yield from read_traces(Path(line), tally)
        return
    if may_be_path and _FILE_NAME.fullmatch(line):
        raise UserError(f"no file {line}; name a trace file or a folder, or pass its text")
    code = code_in_text(text)
    if not code.blocks and not code.unread:
        if not _is_python(text):
            raise UserError(f"neither a transcript nor Python: {text[:60]!r}; pass a path, text or messages")
        code = FoundCode((Block(text),))
    reply = code.reply(text)
    trace = Trace(trace_id="text", replies=(reply,), layout="a text")
    tally.count(trace)
    yield trace


def _traces_of_many(source: Iterable[Any], tally: Tally) -> Iterator[Trace]:
    elements = list(source) if isinstance(source, list | tuple) else source
    if isinstance(elements, list) and elements and all(isinstance(each, Mapping) for each in elements):
        yield from read_value([dict(each) for each in elements], tally)
        return
    for number, each in enumerate(elements, start=1):
        if isinstance(each, list):
            yield from read_value(each, tally, f"trace-{number}")
        else:
            yield from traces_of(each, tally)


def _is_python(text: str) -> bool:
    try:
        ast.parse(text)
    except (SyntaxError, ValueError):
        return text.lstrip().startswith(("%", "!"))
    return bool(text.strip())
