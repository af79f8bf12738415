"""The lint of one trace: what its code assumes about the interpreter, and what the outcomes show about it."""

from collections.abc import Collection, Iterable, Iterator
from typing import Literal, NamedTuple

from carryover.tasks.lint.effects import Carried, StateWalk
from carryover.tasks.lint.executed import SHELL_NAME, Executed, execute_on_paper
from carryover.tasks.lint.runtime import InferredRuntime, infer_runtime
from carryover.tasks.lint.statements import words_of
from carryover.tasks.lint.verdict import Taken, episode_sentence
from carryover.tasks.lint.walk import HISTORY, NameWalk, count_lexemes, star_names
from carryover.tasks.readers.trace import Block, Trace
from carryover.tasks.traces.vocabulary import ContractName

Idiom = Literal["needs_persistence", "mixed", "stateless_safe", "single_block", "unjudged", "no_code"]
"""A trace's use of its interpreter: blocks read what they do not bind, stand alone, or some of each; `unjudged` where
no block reads what it does not bind, but some blocks could not be read."""


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
    language: Literal["python", "shell", "both"] | None
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
    followed = _follow(trace.blocks, tools)
    walk = followed.walk
    executed = followed.executed
    tokens = sum(count_lexemes(reply.text) for reply in trace.replies) + _called_tokens(trace)
    count = max(len(executed), 1)
    unjudged_count = sum(not block.names.is_judged for block in executed)
    unread_count = sum(len(reply.unread) for reply in trace.replies)
    idiom = _idiom(followed, unjudged_count + unread_count)
    names = tuple(sorted({name.removeprefix(SHELL_NAME) for name in walk.carried}))
    state = followed.state
    first = followed.first
    runtime = _runtime(trace, followed)
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
        early_names=tuple(sorted(set(walk.early))),
        reimport_count=walk.reimport_count,
        redefinition_count=walk.redefinition_count,
        reimports_per_block=walk.reimport_count / count,
        redefinitions_per_block=walk.redefinition_count / count,
        token_count=tokens,
        restated_token_count=walk.restated_token_count,
        restated_share=walk.restated_token_count / tokens if tokens else 0.0,
        contradiction=_contradiction(trace.declared_contract, names, has_restating_block=walk.has_restating_block),
        layout=trace.layout,
        language=_language(executed),
        verdict=episode_sentence(idiom, Taken(first, names, state, tuple(sorted(set(walk.early)))), runtime),
        first_block=first[0] if first else None,
        first_name=first[1] if first else None,
        carried_files=_names_of(state, "files"),
        carried_environment=_names_of(state, "environment"),
        carried_directory=any(each.channel == "directory" for each in state),
        carried_packages=_names_of(state, "packages"),
        carried_processes=any(each.channel == "processes" for each in state),
        carried_figures=any(each.channel == "figures" for each in state),
        runtime=runtime.runtime,
        runtime_confidence=runtime.confidence,
        observed_read_count=runtime.observed_count,
        failed_read_count=runtime.failed_count,
        error_count=sum(block.has_error for block in executed),
        missing_name_count=sum(block.missing_name is not None for block in executed),
    )


class _Followed(NamedTuple):
    """A trace's blocks, followed to the end."""

    executed: tuple[Executed, ...]
    walk: NameWalk
    state: tuple[Carried, ...]
    first: tuple[int, str] | None
    """First block that takes something from an earlier one, and what."""
    observed_count: int
    failed_count: int


def _follow(blocks: Collection[Block], tools: Collection[str] | None) -> _Followed:
    constants: dict[str, str] = {}
    executed = tuple(execute_on_paper(block, tools or (), constants) for block in blocks)
    unbound = _never_bound(executed)
    starred = star_names([each.names for each in executed], unbound)
    walk = NameWalk((unbound if tools is None else frozenset(tools)) - starred)
    state_walk = StateWalk()
    state: dict[Carried, None] = {}
    first: tuple[int, str] | None = None
    observed = 0
    failed = 0
    for number, (each, block) in enumerate(zip(executed, blocks, strict=True), start=1):
        carried = walk.enter(each.names, starred if each.names.has_star_import else frozenset(), is_forced=failed > 0)
        taken = state_walk.enter(each.effects)
        state.update((found, None) for found in taken)
        found_names = sorted(name.removeprefix(SHELL_NAME) for name in carried) or sorted(map(_described, taken))
        if first is None and found_names:
            first = (number, found_names[0])
        walk.seen |= words_of(block.code) | words_of(block.output or "")
        is_failed = each.missing_name in carried
        failed += is_failed
        observed += int(is_failed) if each.has_error else len(carried) if each.has_outcome else 0
    return _Followed(executed, walk, tuple(state), first, observed, failed)


def _never_bound(executed: tuple[Executed, ...]) -> frozenset[str]:
    """Return the names that are read and that no block's source binds: the harness may provide them."""
    read = frozenset[str]().union(*(each.names.reads for each in executed))
    written = frozenset[str]().union(*(each.written_names for each in executed))
    return frozenset(name for name in read - written if not HISTORY.fullmatch(name))


def _idiom(followed: _Followed, unjudged_count: int) -> Idiom:
    """Return how a trace treats its interpreter."""
    walk = followed.walk
    if walk.carried or walk.early or followed.state:
        return "mixed" if walk.has_restating_block and (walk.carried or walk.early) else "needs_persistence"
    if not followed.executed:
        return "unjudged" if unjudged_count else "no_code"
    if unjudged_count:
        return "unjudged"
    return "single_block" if len(followed.executed) < 2 else "stateless_safe"


def _contradiction(declared: str | None, names: tuple[str, ...], *, has_restating_block: bool) -> str | None:
    if declared in (ContractName.STATELESS, ContractName.INJECTED) and names:
        return f"declared {declared}, but later blocks read {', '.join(names)} of earlier ones"
    if declared == ContractName.PERSISTENT and has_restating_block and not names:
        return "declared persistent, but later blocks only repeat what earlier ones left"
    return None


def _runtime(trace: Trace, followed: _Followed) -> InferredRuntime:
    """Infer the runtime; one whose Python ran by `python -c` alone kept no names between its calls."""
    languages = [block.language for block in followed.executed]
    ran_python = [block for block in followed.executed if block.runs_fresh_python or block.language == "python"]
    is_by_command = bool(ran_python) and all(block.runs_fresh_python for block in ran_python)
    is_fresh = is_by_command or (trace.has_fresh_processes and bool(languages))
    return infer_runtime(followed.observed_count, followed.failed_count, is_fresh=is_fresh)


def _language(executed: tuple[Executed, ...]) -> Literal["python", "shell", "both"] | None:
    languages = {block.language for block in executed}
    if len(languages) > 1:
        return "both"
    return next(iter(languages), None)


def _called_tokens(trace: Trace) -> int:
    """Count the tokens of code that stands in tool calls, which no reply's text holds."""
    return sum(
        count_lexemes(block.code) for reply in trace.replies for block in reply.blocks if block.code not in reply.text
    )


def _names_of(state: Iterable[Carried], channel: str) -> tuple[str, ...]:
    return tuple(sorted({each.name for each in state if each.channel == channel}))


def _described(taken: Carried) -> str:
    """Return what was taken with its channel: `file part.json`."""
    words = {"files": f"file {taken.name}", "environment": f"environment variable {taken.name}",
             "packages": f"package {taken.name}", "directory": "working directory",
             "processes": "background process", "figures": "figure"}  # fmt: skip
    return words[taken.channel]
