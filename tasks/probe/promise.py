"""Promises that prompts make about state between blocks."""

import re
from pathlib import Path
from typing import NamedTuple, get_args

from carryover.tasks.probe.verdict import Claim
from carryover.tasks.services.errors import UserError
from carryover.tasks.services.text import read_text_file

_SENTENCE = re.compile(r"(?<=[.!?:])\s+|\n(?!\s*[a-z])")
"""Where a sentence ends: a line that goes on in lower case is wrapped."""
_LIST_MARKS = " \t*-#>"
_STATE = r"(?:states?|variables?|names?|definitions?|functions?|imports?|kernel|session|interpreter|namespace|memory)"
_PLACE = r"(?:process|interpreter|environment|session|sandbox|kernel|namespace|container|python|repl|shell)"
_KEPT = (
    r"(?:persist\w*|kept|keeps?|retain\w*|preserv\w*|remain\w*|surviv\w*|maintain\w*|remember\w*"
    r"|carr(?:y|ies|ied)(?: over| forward)?)"
)
_THERE = r"(?:available|live|accessible|usable|reachable|defined|in scope)"
_GONE = r"(?:lost|forgotten|discarded|cleared|reset|wiped|erased|dropped|destroyed|deleted|restarted|gone)"
_LATER = r"(?:later|next|subsequent|following|future|other|earlier|previous|between|across|all)"
_FRESH_PLACE = r"(?:process|interpreter|environment|session|sandbox|kernel|namespace|container|repl|shell)"
_RUN = r"(?:runs?|executed|executions?|blocks?|calls?|cells?|invocations?|snippets?|scripts?)"
_YOURS = r"(?:everything|anything|objects?|whatever)(?: that| which)? you (?:define|create|assign|import|compute)"
_FAR = r".{0,200}"
"""What stands between two words of a sentence; a bound, since a prompt may be one long line."""
_NO_CONDITION = r"(?:(?!\b(?:until|unless|if|when|once|never|not)\b|n't).){0,200}"
_NO_NEED = r"(?<!\bnot )(?<!n't )(?<!\bnever )(?<!\bnot need to )(?<!n't need to )(?<!\bnot have to )(?<!n't have to )"
_KEEPS = re.compile(
    rf"\b{_STATE}\b{_FAR}\b(?:{_KEPT}|{_THERE})\b|(?!\Akeep\b)\b(?:{_KEPT}|stateful)\b{_FAR}\b{_STATE}\b"
    rf"|\b(?:stateful|persistent)\b{_FAR}\b(?:python|jupyter|notebook|environment|repl|tool|sandbox)\b"
    rf"|\b{_STATE}\b{_FAR}\b(?:used|reused|re-used|referenced|shared)\b{_FAR}\b{_LATER}\b"
    rf"|\bshares?\b{_FAR}\b(?:one|a|single|same)\b{_FAR}\b{_PLACE}\b"
    rf"|\b{_PLACE} (?:{_KEPT})\b"
    rf"|\b{_YOURS}\b{_FAR}\b(?:{_KEPT}|{_THERE}|(?:re-?)?used\b{_FAR}\b{_LATER})\b",
    re.IGNORECASE,
)
_LOSES = re.compile(
    rf"\bstateless\b|\b(?:fresh|new|clean|separate|blank|empty|its own)\b(?:,? [\w-]+){{0,2}} {_FRESH_PLACE}\b"
    rf"|\b(?:each|every)\b{_FAR}\b(?:isolated|in isolation|from scratch)\b"
    rf"|\b{_KEPT} (?:nothing|no (?!longer|matter|need))\b"
    rf"|\b(?:each|every)\b{_FAR}\b{_RUN}\b{_FAR}\bindependent(?:ly)?\b"
    rf"|\b(?:no|without)\b(?! need)(?:\W+\w+){{0,6}}?\W+{_STATE}\b{_FAR}\b(?:{_KEPT}|shared|between|across|over)\b"
    rf"|(?:\b(?:not|never)|n't)(?: be| been)?(?: \w+ly)? (?:{_KEPT}|{_THERE}|shared)\b"
    rf"|\bno longer (?:{_THERE}|exists?)\b|\b(?:nothing|none)\b(?:\W+\w+){{0,4}}?\W+(?:{_KEPT}|shared)\b"
    rf"|\b{_STATE}\b (?:do|does|are|is|will)(?: not|n't)\s*(?:[.,;!]|$)"
    rf"|(?:\b(?:not|never)|n't|\bcannot) (?:assume|expect|rely|depend|count)\b{_FAR}\b(?:{_STATE}|{_KEPT})\b"
    rf"|\b(?:{_STATE}|{_YOURS})\b{_NO_CONDITION}\b{_GONE}\b"
    rf"|{_NO_NEED}\bre-?(?:import|define|load|create)\b{_FAR}\b(?:each|every)\b",
    re.IGNORECASE,
)


class Promise(NamedTuple):
    """A claim, and where it stands."""

    claim: Claim
    sentence: str | None
    """Sentence of the prompt; null for a claim that was named itself."""


def read_promise(wanted: str) -> Promise:
    """Return a claim by its name, or that of a prompt's file.

    Raises:
        UserError: There is no such file, or the prompt promises nothing, or both.
    """
    named: tuple[Claim, ...] = get_args(Claim)
    for claim in named:
        if claim == wanted:
            return Promise(claim, None)
    path = Path(wanted)
    if not path.is_file():
        raise UserError(f"unknown claim {wanted!r}; choose from {', '.join(named)}, or name a file with the prompt")
    return find_promise(read_text_file(path), wanted)


def find_promise(prompt: str, name: str) -> Promise:
    """Return what a prompt promises, with the first sentence that does."""
    found: dict[Claim, str] = {}
    for part in _SENTENCE.split(prompt):
        sentence = " ".join(part.strip(_LIST_MARKS).split())
        claim = _claim_of(sentence)
        if claim is not None:
            found.setdefault(claim, sentence)
    if len(found) > 1:
        promises = " and ".join(f"{sentence!r}" for sentence in found.values())
        raise UserError(f"{name} promises both contracts: {promises}; name the claim itself")
    if not found:
        raise UserError(f"{name} promises nothing about state between blocks; name the claim itself")
    claim, sentence = found.popitem()
    return Promise(claim, sentence)


def _claim_of(sentence: str) -> Claim | None:
    if _LOSES.search(sentence):
        return "stateless"
    if _KEEPS.search(sentence):
        return "persistent"
    return None
