"""The lint of one trace: assumptions of code, evidence of outcomes."""

from collections.abc import Collection, Iterable, Iterator
from typing import Literal, NamedTuple

from carryover.tasks.lint.executed import SHELL_NAME, Executed, execute_on_paper
from carryover.tasks.lint.runtime import InferredRuntime, infer_runtime
from carryover.tasks.lint.state import Carried, StateWalk
from carryover.tasks.lint.statements import shadows_of, words_of
from carryover.tasks.lint.verdict import Taken, episode_sentence
from carryover.tasks.lint.walk import HISTORY, NameWalk, count_lexemes, star_names
from carryover.tasks.readers.trace import Block, Trace
from carryover.tasks.traces.vocabulary import ContractName

TraceLanguage = Literal["python", "shell", "both"]
Idiom = Literal["needs_persistence", "mixed", "stateless_safe", "single_block", "unjudged", "no_code"]
"""A trace's use of its interpreter: blocks read what they do not bind, stand alone, or some of each; `unjudged` where
no block reads what it does not bind, but some blocks could not be read."""


_NOUNS = {
    "names": "{}",
    "files": "file {}",
    "environment": "environment variable {}",
    "packages": "package {}",
    "directory": "working directory",
    "processes": "background process",
    "figures": "current figure",
}
"""Channels of state, each with what a trace takes through it."""


class Take(NamedTuple):
    """A read of state that an earlier block left."""

    block: int
    """Block that reads, counted from 1."""
    channel: str
    name: str
    is_after_error: bool = False
    """Whether a block that raised stands between."""
    is_of_failed_block: bool = False
    """Whether the block that left it raised."""

    @property
    def what(self) -> str:
        """Return what is read, for a person: `df`, `file part.json`, `working directory`."""
        return _NOUNS[self.channel].format(self.name)

    def __str__(self) -> str:
        """Return the read for a person: `block 2: df`."""
        return f"block {self.block}: {self.what}"


class TraceLint(NamedTuple):
    """Findings about the code of one trace."""

    trace_id: str
    declared_contract: str | None
    block_count: int
    unjudged_count: int
    """Blocks that are not valid code or run computed text; a trace that has one is never safe."""
    unread_count: int
    """Blocks and calls of an interpreter whose source was not read."""
    idiom: Idiom
    is_stateless_safe: bool
    """Whether every block stands on its own."""
    carried_read_count: int
    """Pairs of a block and a name or module that it takes from an earlier block."""
    carried_names: tuple[str, ...]
    early_read_count: int
    """Pairs of a block and a name that it uses before any block has bound it, or after it was deleted."""
    early_names: tuple[str, ...]
    """By the block of their first use, then by the alphabet."""
    first_early_block: int | None
    reimport_count: int
    """Pairs of a block and a module of which it imports what an earlier block imported already."""
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
    layout: str
    """Layout that the trace was read from."""
    language: TraceLanguage | None
    verdict: str
    """The finding as a sentence."""
    first_block: int | None
    """First block that takes state from an earlier one, counted from 1."""
    first_name: str | None
    """What that block takes first, by the alphabet."""
    carried_files: tuple[str, ...]
    """Files that a block reads and only an earlier one wrote."""
    carried_environment: tuple[str, ...]
    """Environment variables of which the same holds."""
    carried_directory: bool
    """Whether a block depends on a working directory that an earlier one set."""
    carried_packages: tuple[str, ...]
    """Modules that a block imports and an earlier one installed."""
    carried_processes: bool
    """Whether a block speaks to a process or thread that an earlier one started."""
    carried_figures: bool
    """Whether a block goes on with a figure that an earlier one drew."""
    runtime: str | None
    """Runtime that the outcomes show: `persistent`, `stateless`, `fresh process per call`; null for none."""
    runtime_confidence: float | None
    observed_read_count: int
    """Reads of earlier names whose outcome is known."""
    failed_read_count: int
    """Those that raised because the name was missing."""
    error_count: int
    """Blocks that ended with an error."""
    missing_name_count: int
    """Blocks that ended because a name was not defined."""
    takes: tuple[Take, ...] = ()
    """Reads of state that earlier blocks left, in order."""


class BlockLint(NamedTuple):
    """Findings about one block of a trace."""

    carried: tuple[str, ...]
    """Names and other state that it takes from earlier blocks, e.g. `items`, `file part.json`."""
    early_names: tuple[str, ...]
    """Names that it uses before any block has bound them, or after they were deleted."""
    is_judged: bool
    """Whether the block is code that could be read."""


class DetailedLint(NamedTuple):
    """Findings about a trace and each of its blocks."""

    trace: TraceLint
    blocks: tuple[BlockLint, ...]


def lint_traces(traces: Iterable[Trace], *, tools: Collection[str] | None = None) -> Iterator[TraceLint]:
    """Yield the findings about each trace.

    Args:
        traces: The traces.
        tools: Names that the harness provides in every block. Without them a name that a trace reads and never binds
            counts as provided, so only names that are bound too late show as used before they could exist.
    """
    for trace in traces:
        yield lint_trace(trace, tools=tools)


def lint_trace(trace: Trace, *, tools: Collection[str] | None = None) -> TraceLint:
    """Lint one trace; arguments as for `lint_traces`."""
    return _trace_lint(trace, _follow(trace.blocks, tools))


def lint_in_detail(trace: Trace, *, tools: Collection[str] | None = None) -> DetailedLint:
    """Lint one trace and each block; arguments as for `lint_traces`."""
    followed = _follow(trace.blocks, tools)
    return DetailedLint(_trace_lint(trace, followed), followed.blocks)


class _Followed(NamedTuple):
    """A trace's blocks, followed to the end."""

    executed: tuple[Executed, ...]
    walk: NameWalk
    state: tuple[Carried, ...]
    observed_count: int
    failed_count: int
    blocks: tuple[BlockLint, ...]
    takes: tuple[Take, ...]


def _follow(blocks: Collection[Block], tools: Collection[str] | None) -> _Followed:
    constants: dict[str, str] = {}
    shadows = shadows_of(block.code for block in blocks)
    executed = tuple(execute_on_paper(block, tools or (), constants, shadows) for block in blocks)
    unbound = _never_bound(executed)
    starred = star_names([each.names for each in executed], unbound)
    following = _Following(NameWalk((unbound if tools is None else frozenset(tools)) - starred), starred)
    for each, block in zip(executed, blocks, strict=True):
        following.enter(each, block)
    return _Followed(
        executed,
        following.names,
        tuple(following.carried_state),
        following.observed_count,
        following.failed_count,
        tuple(following.blocks),
        tuple(following.takes),
    )


def _trace_lint(trace: Trace, followed: _Followed) -> TraceLint:
    walk = followed.walk
    executed = followed.executed
    tokens = sum(count_lexemes(reply.text) for reply in trace.replies) + _called_tokens(trace)
    count = max(len(executed), 1)
    unjudged_count = _count_unjudged(executed)
    unread_count = sum(len(reply.unread) for reply in trace.replies)
    first = followed.takes[0] if followed.takes else None
    idiom = _idiom(followed, unjudged_count + unread_count)
    names = tuple(sorted({name.removeprefix(SHELL_NAME) for name in walk.carried}))
    state = followed.state
    runtime = _runtime(trace, followed)
    taken = Taken(first and (first.block, first.what), names, state, tuple(sorted(set(walk.early))))
    return TraceLint(
        trace_id=trace.trace_id,
        declared_contract=trace.declared_contract,
        block_count=len(executed),
        unjudged_count=unjudged_count,
        unread_count=unread_count,
        idiom=idiom,
        is_stateless_safe=idiom in ("single_block", "stateless_safe"),
        carried_read_count=len(walk.carried),
        carried_names=names,
        early_read_count=len(walk.early),
        early_names=tuple(dict.fromkeys(walk.early)),
        first_early_block=_first_early(followed.blocks),
        reimport_count=walk.reimport_count,
        redefinition_count=walk.redefinition_count,
        reimports_per_block=walk.reimport_count / count,
        redefinitions_per_block=walk.redefinition_count / count,
        token_count=tokens,
        restated_token_count=walk.restated_token_count,
        restated_share=walk.restated_token_count / max(tokens, 1),
        contradiction=_contradiction(trace.declared_contract, names, has_restating_block=walk.has_restating_block),
        layout=trace.layout,
        language=_language(executed),
        verdict=episode_sentence(idiom, taken, runtime),
        first_block=first and first.block,
        first_name=first and first.what,
        carried_files=_names_of(state, "files"),
        carried_environment=_names_of(state, "environment"),
        carried_directory=bool(_names_of(state, "directory")),
        carried_packages=_names_of(state, "packages"),
        carried_processes=bool(_names_of(state, "processes")),
        carried_figures=bool(_names_of(state, "figures")),
        runtime=runtime.runtime,
        runtime_confidence=runtime.confidence,
        observed_read_count=runtime.observed_count,
        failed_read_count=runtime.failed_count,
        error_count=sum(block.has_error for block in executed),
        missing_name_count=sum(block.missing_name is not None for block in executed),
        takes=followed.takes,
    )


def _first_early(blocks: Iterable[BlockLint]) -> int | None:
    """Return the first block that uses an unbound name."""
    return next((number for number, block in enumerate(blocks, 1) if block.early_names), None)


class _Following:
    """Names and state of a trace while its blocks are gone through."""

    def __init__(self, names: NameWalk, starred: frozenset[str]) -> None:
        self.names = names
        self.carried_state: dict[Carried, None] = {}
        self.observed_count = 0
        self.failed_count = 0
        self.blocks: list[BlockLint] = []
        self.takes: list[Take] = []
        self._starred = starred
        self._state = StateWalk()
        self._number = 0
        self._left_at: dict[str, int] = {}
        """Block that left a name last."""
        self._raised: list[int] = []
        """Blocks that raised."""

    def enter(self, block: Executed, source: Block) -> None:
        """Go through one block."""
        self._number += 1
        starred = self._starred if block.names.has_star_import else frozenset[str]()
        known_early = len(self.names.early)
        carried = self.names.enter(block.names, starred, is_forced=self.failed_count > 0)
        taken = self._state.enter(block.effects)
        early = tuple(sorted(set(self.names.early[known_early:])))
        takes = [*map(self._name_take, sorted(carried)), *self._state_takes(taken)]
        self.takes += takes
        self.blocks.append(BlockLint(tuple(take.what for take in takes), early, block.names.is_judged))
        self.carried_state.update((found, None) for found in taken)
        self._note_outcome(block, carried)
        self._leave(block)
        self.names.seen |= words_of(source.code) | words_of(source.output or "")

    def _state_takes(self, taken: list[Carried]) -> list[Take]:
        takes = [Take(self._number, each.channel, each.name) for each in taken]
        return sorted(takes, key=lambda take: take.what)

    def _name_take(self, name: str) -> Take:
        left_at = self._left_at.get(name, 0)
        return Take(
            self._number,
            "names",
            name.removeprefix(SHELL_NAME),
            is_after_error=any(raised > left_at for raised in self._raised),
            is_of_failed_block=left_at in self._raised,
        )

    def _leave(self, block: Executed) -> None:
        for name in block.names.binds | block.names.imported_names:
            self._left_at[name] = self._number
        if block.has_error:
            self._raised.append(self._number)

    def _note_outcome(self, block: Executed, carried: frozenset[str]) -> None:
        """Count reads of earlier names with a known outcome.

        A shell reads an unset variable without an error, so its reads show nothing.
        """
        missing = block.missing_name or block.caught_name
        if block.has_error or missing is not None:
            is_missed = missing in carried
            self.observed_count += is_missed
            self.failed_count += is_missed
        elif block.has_outcome:
            self.observed_count += sum(not name.startswith(SHELL_NAME) for name in carried)


def _count_unjudged(executed: tuple[Executed, ...]) -> int:
    return sum(not block.names.is_judged for block in executed)


def _never_bound(executed: tuple[Executed, ...]) -> frozenset[str]:
    """Return names that are read but never bound in a block.

    The harness may provide them.
    """
    read = frozenset[str]().union(*(each.names.reads for each in executed))
    written = frozenset[str]().union(*(each.written_names for each in executed))
    return frozenset(name for name in read - written if not HISTORY.fullmatch(name))


def _idiom(followed: _Followed, unjudged_count: int) -> Idiom:
    """Return how a trace treats its interpreter."""
    walk = followed.walk
    reads_names = bool(walk.carried or walk.early)
    if reads_names and walk.has_restating_block:
        return "mixed"
    if reads_names or followed.state:
        return "needs_persistence"
    if unjudged_count:
        return "unjudged"
    match len(followed.executed):
        case 0:
            return "no_code"
        case 1:
            return "single_block"
        case _:
            return "stateless_safe"


def _contradiction(declared: str | None, names: tuple[str, ...], *, has_restating_block: bool) -> str | None:
    if declared in (ContractName.STATELESS, ContractName.INJECTED) and names:
        return f"declared {declared}, but later blocks read {', '.join(names)} of earlier ones"
    if declared == ContractName.PERSISTENT and has_restating_block and not names:
        return "declared persistent, but later blocks only repeat what earlier ones left"
    return None


def _runtime(trace: Trace, followed: _Followed) -> InferredRuntime:
    """Infer the runtime; `python -c` alone keeps no names."""
    languages = [block.language for block in followed.executed]
    ran_python = [block for block in followed.executed if block.runs_fresh_python or block.language == "python"]
    is_by_command = bool(ran_python) and all(block.runs_fresh_python for block in ran_python)
    is_fresh = is_by_command or (trace.has_fresh_processes and bool(languages))
    return infer_runtime(followed.observed_count, followed.failed_count, is_fresh=is_fresh)


def _language(executed: tuple[Executed, ...]) -> TraceLanguage | None:
    if not executed:
        return None
    first = executed[0].language
    if all(block.language == first for block in executed):
        return first
    return "both"


def _called_tokens(trace: Trace) -> int:
    """Count the tokens of code in tool calls."""
    count = 0
    for reply in trace.replies:
        called = [block.code for block in reply.blocks if block.code not in reply.text]
        count += sum(map(count_lexemes, called))
    return count


def _names_of(state: Iterable[Carried], channel: str) -> tuple[str, ...]:
    return tuple(sorted({each.name for each in state if each.channel == channel}))
