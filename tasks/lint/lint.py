"""The lint itself: follow the names of a trace from block to block."""

import re
from collections.abc import Collection, Iterable
from typing import Literal, NamedTuple, get_args

import polars as pl

from carryover.tasks.lint.statements import LintBlock, Statement, read_block, words_of
from carryover.tasks.lint.trace import CodeTrace, ExecutedBlock, code_blocks
from carryover.tasks.traces.vocabulary import ContractName

Idiom = Literal["needs_persistence", "mixed", "stateless_safe", "single_block", "unjudged", "no_code"]
"""A trace's use of its interpreter: blocks read what they do not bind, stand alone, or some of each; `unjudged` where
no block reads what it does not bind, but some blocks could not be read."""

_HISTORY = re.compile(r"_\d*|Out|In|_i+|_i\d+|_ih|_oh")
"""Names under which Python and IPython keep the values and the source of earlier blocks."""
_LEXEME = re.compile(r"\w+|[^\w\s]")

_COLUMN_TYPES = {
    "declared_contract": pl.String,
    "contradiction": pl.String,
    "carried_names": pl.List(pl.String),
    "early_names": pl.List(pl.String),
}
"""Types of columns that may hold nothing but nulls or empty lists."""


class TraceLint(NamedTuple):
    """Findings about the code of one trace."""

    trace_id: str
    declared_contract: str | None
    block_count: int
    unjudged_count: int
    """Blocks that are not Python (shell, syntax errors) or run computed text; a trace that has one is never safe."""
    unread_count: int
    """Tool calls whose arguments hold no Python source."""
    idiom: Idiom
    is_stateless_safe: bool
    """Whether every block stands on its own."""
    carried_read_count: int
    """Pairs of a block and a name or module that it takes from an earlier block."""
    carried_names: tuple[str, ...]
    early_read_count: int
    """Pairs of a block and a name that it uses before any block has bound it, or after it was deleted."""
    early_names: tuple[str, ...]
    reimport_count: int
    """Pairs of a block and a module that an earlier block imported already."""
    redefinition_count: int
    """Pairs of a block and a name that it binds anew without reading what an earlier block bound."""
    reimports_per_block: float
    redefinitions_per_block: float
    token_count: int
    """Tokens of all replies."""
    restated_token_count: int
    """Tokens of statements that repeat an earlier one, or import, define or write out again what earlier blocks had."""
    restated_share: float
    contradiction: str | None
    """Why the code does not fit the declared contract; null if it fits or none is declared."""


def count_lexemes(text: str) -> int:
    """Return the number of words and signs of a text, which stand for its tokens."""
    return len(_LEXEME.findall(text))


def lint_text(text: str, *, tools: Collection[str] | None = None) -> TraceLint:
    """Lint a text whose blocks ran in turn, such as a transcript; a text without blocks is one block of Python."""
    codes = code_blocks(text) or [text]
    return lint_trace(CodeTrace("text", None, (text,), tuple(map(ExecutedBlock, codes))), tools=tools)


def lint_traces(traces: Iterable[CodeTrace], *, tools: Collection[str] | None = None) -> pl.DataFrame:
    """Lint traces of any code agent: one row per trace with the fields of `TraceLint`, names joined by commas.

    Args:
        traces: The traces.
        tools: Names that the harness provides in every block. Without them a name that a trace reads and never binds
            counts as provided, so only names that are bound too late show as used before they could exist.
    """
    rows = [lint_trace(trace, tools=tools)._asdict() for trace in traces]
    frame = pl.DataFrame(rows, schema=list(TraceLint._fields), schema_overrides=_COLUMN_TYPES, infer_schema_length=None)
    return frame.with_columns(pl.col(pl.List(pl.String)).list.join(", "))


def summarise_lint(lint: pl.DataFrame) -> pl.DataFrame:
    """Return one row per declared contract, nulls last, from what `lint_traces` returned.

    Shares of traces are in [0, 1], rates per block over all blocks, and `restated_share` is of all tokens.
    """
    blocks, tokens = pl.col("block_count").sum(), pl.col("token_count").sum()
    return (
        lint.group_by("declared_contract")
        .agg(
            trace_count=pl.len(),
            **{f"{idiom}_share": (pl.col("idiom") == idiom).mean() for idiom in get_args(Idiom)},
            unjudged_block_count=pl.col("unjudged_count").sum(),
            unread_call_count=pl.col("unread_count").sum(),
            contradicting_share=pl.col("contradiction").is_not_null().mean(),
            early_read_share=(pl.col("early_read_count") > 0).mean(),
            reimports_per_block=pl.col("reimport_count").sum() / blocks,
            redefinitions_per_block=pl.col("redefinition_count").sum() / blocks,
            restated_share=pl.col("restated_token_count").sum() / tokens,
        )
        .sort("declared_contract", nulls_last=True)
    )


def lint_trace(trace: CodeTrace, *, tools: Collection[str] | None = None) -> TraceLint:
    """Lint one trace; arguments as for `lint_traces`."""
    blocks = [read_block(block.code, tools or ()) for block in trace.blocks]
    unbound = (
        frozenset[str]()
        .union(*(block.reads for block in blocks))
        .difference(*(block.binds | block.deletes | block.imported_names for block in blocks))
    )
    unbound = frozenset(name for name in unbound if not _HISTORY.fullmatch(name))
    starred = _star_names(blocks, unbound)
    walk = _Walk((unbound if tools is None else frozenset(tools)) - starred)
    for block, executed in zip(blocks, trace.blocks, strict=True):
        walk.enter(block, starred if block.has_star_import else frozenset())
        walk.seen |= words_of(executed.code) | words_of(executed.observation)
    carried = sorted(set(walk.carried))
    tokens = sum(map(count_lexemes, (*trace.replies, *trace.called_codes)))
    count = max(len(blocks), 1)
    unjudged_count = sum(not block.is_judged for block in blocks)
    contradiction = None
    if trace.declared_contract in (ContractName.STATELESS, ContractName.INJECTED) and carried:
        contradiction = (
            f"declared {trace.declared_contract}, but later blocks read {', '.join(carried)} of earlier ones"
        )
    elif trace.declared_contract == ContractName.PERSISTENT and walk.has_restating_block and not carried:
        contradiction = "declared persistent, but later blocks only repeat what earlier ones left"
    idiom = walk.idiom(len(blocks), unjudged_count + trace.unread_count)
    return TraceLint(
        trace_id=trace.trace_id,
        declared_contract=trace.declared_contract,
        block_count=len(blocks),
        unjudged_count=unjudged_count,
        unread_count=trace.unread_count,
        idiom=idiom,
        is_stateless_safe=idiom in ("single_block", "stateless_safe"),
        carried_read_count=len(walk.carried),
        carried_names=tuple(carried),
        early_read_count=len(walk.early),
        early_names=tuple(sorted(set(walk.early))),
        reimport_count=walk.reimport_count,
        redefinition_count=walk.redefinition_count,
        reimports_per_block=walk.reimport_count / count,
        redefinitions_per_block=walk.redefinition_count / count,
        token_count=tokens,
        restated_token_count=walk.restated_token_count,
        restated_share=walk.restated_token_count / tokens if tokens else 0.0,
        contradiction=contradiction,
    )


class _Walk:
    """The names of a trace, block after block, as a persistent interpreter would have them."""

    def __init__(self, provided: frozenset[str]) -> None:
        self._provided = provided
        self._has_begun = False
        self._bound: set[str] = set()
        self._imported: set[str] = set()
        self._imported_names: set[str] = set()
        self._starred: frozenset[str] = frozenset()
        self._shapes: set[str] = set()
        self.seen: set[str] = set()
        self.carried: list[str] = []
        self.early: list[str] = []
        self.reimport_count = 0
        self.redefinition_count = 0
        self.restated_token_count = 0
        self.has_restating_block = False

    def enter(self, block: LintBlock, starred: frozenset[str]) -> None:
        """Count what a block takes from the ones before it, then add what it leaves; `starred` its `import *` binds."""
        reads = block.reads - starred
        inherited = self._bound | self._imported_names | self._starred
        if self._has_begun:
            inherited |= {name for name in reads if _HISTORY.fullmatch(name)}
        carried = reads & inherited
        self.carried += carried
        self.early += (reads - inherited - self._provided) | block.dead_reads
        self.reimport_count += len(block.imports & self._imported)
        self.redefinition_count += len((block.binds & self._bound) - block.reads - {"_"})
        restated = [statement.source for statement in block.statements if self._restates(statement)]
        self.restated_token_count += sum(map(count_lexemes, restated))
        self.has_restating_block |= bool(restated) and not carried
        self._bound = (self._bound - block.deletes) | block.binds
        self._imported |= block.imports
        self._imported_names = (self._imported_names - block.deletes) | block.imported_names
        self._starred |= starred
        self._has_begun = True
        self._shapes |= {statement.shape for statement in block.statements if statement.shape}

    def idiom(self, block_count: int, unjudged_count: int) -> Idiom:
        """Return how the trace treats its interpreter."""
        if self.carried or self.early:
            return "mixed" if self.has_restating_block else "needs_persistence"
        if not block_count:
            return "no_code"
        if unjudged_count:
            return "unjudged"
        return "single_block" if block_count < 2 else "stateless_safe"

    def _restates(self, statement: Statement) -> bool:
        if statement.data and statement.data <= self.seen:
            return True
        if statement.reads & (self._bound | self._imported_names):
            return False
        if statement.shape in self._shapes:
            return bool(statement.binds or statement.imports)
        is_known = statement.binds <= self._bound and statement.imports <= self._imported
        return is_known and statement.is_declaration


def _star_names(blocks: Collection[LintBlock], unbound: frozenset[str]) -> frozenset[str]:
    """Return the names that only `import *` can have bound: nothing binds them, and nothing reads them before it."""
    before: set[str] = set()
    for block in blocks:
        if block.has_star_import:
            return unbound - before
        before |= block.reads
    return frozenset()
