"""Verdicts as sentences with numbers."""

from collections.abc import Sequence
from typing import NamedTuple

from carryover.tasks.lint.runtime import FRESH_PROCESS, InferredRuntime
from carryover.tasks.lint.state import Carried

_SHOWN = 3
"""Names that a sentence lists before it counts the rest."""
_ENOUGH_READS = 3
"""Reads of earlier names from which on a sentence says what the runtime was."""
_SAFE = {
    "stateless_safe": "every block stands on its own",
    "single_block": "one block, which takes nothing from another",
    "no_code": "no code",
    "unjudged": "some blocks could not be judged; the others stand on their own",
}
_RUNTIMES = {
    "stateless": "a fresh process",
    "persistent": "persistent",
    FRESH_PROCESS: "a fresh process per call",
}
_CHANNELS = (
    ("files", "file"),
    ("environment", "environment variable"),
    ("packages", "package"),
)
_UNNAMED_CHANNELS = (
    ("directory", "the working directory"),
    ("processes", "a background process"),
    ("figures", "the current figure"),
)


class Taken(NamedTuple):
    """State that the blocks of an episode take from earlier ones."""

    first: tuple[int, str] | None
    """First block that takes something, and what."""
    names: Sequence[str]
    state: Sequence[Carried]
    early: Sequence[str]
    """Names that are read before any block binds them."""


def episode_sentence(idiom: str, found: Taken, runtime: InferredRuntime) -> str:
    """Return a sentence on one episode's needs and runtime."""
    if idiom in _SAFE:
        return _with_runtime(_SAFE[idiom], runtime, assumes_persistence=False)
    beyond = [each for each in found.state if each.channel != "environment" or each.name not in found.names]
    taken = [f"`{name}`" for name in found.names] + _state_words(beyond)
    if not taken:
        return f"reads {_listed([f'`{name}`' for name in found.early])} before any block binds it"
    at = ""
    if found.first:
        at = f", first at block {found.first[0]}"
    return _with_runtime(f"takes {_listed(taken)} from earlier blocks{at}", runtime, assumes_persistence=True)


def runtime_sentence(runtime: InferredRuntime) -> str | None:
    """Return what outcomes show about the runtime; null for nothing."""
    if runtime.runtime is None:
        return None
    kind = _RUNTIMES[runtime.runtime]
    if not runtime.observed_count:
        return f"the runtime was {kind}"
    confidence = ""
    if runtime.confidence is not None:
        confidence = f", confidence {runtime.confidence:.2f}"
    counted = f"{runtime.failed_count} of {runtime.observed_count} reads of earlier names failed{confidence}"
    was = "was" if runtime.observed_count >= _ENOUGH_READS else "seems to have been"
    return f"the runtime {was} {kind} ({counted})"


def _with_runtime(sentence: str, runtime: InferredRuntime, *, assumes_persistence: bool) -> str:
    shown = runtime_sentence(runtime)
    if shown is None:
        return sentence
    assumption = "code assumes persistence; " if assumes_persistence else ""
    return f"{sentence}; {assumption}{shown}"


def _state_words(state: Sequence[Carried]) -> list[str]:
    words = []
    for channel, noun in _CHANNELS:
        words += [f"{noun} `{name}`" for name in sorted({each.name for each in state if each.channel == channel})]
    words += [noun for channel, noun in _UNNAMED_CHANNELS if any(each.channel == channel for each in state)]
    return words


def _listed(items: Sequence[str]) -> str:
    rest = len(items) - _SHOWN
    return ", ".join(items[:_SHOWN]) + (f" and {rest} more" if rest > 0 else "")
