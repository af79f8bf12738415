"""Promises that prompts make about state between blocks."""

import re
from pathlib import Path
from typing import NamedTuple, get_args

from carryover.tasks.probe.verdict import Claim
from carryover.tasks.services.errors import UserError

_SENTENCE = re.compile(r"(?<=[.!?:])\s+|\n")
_LIST_MARKS = " \t*-#>"
_STATE = r"(?:states?|variables?|names?|definitions?|functions?|imports?|kernel|session|interpreter|namespace)"
_KEPT = r"(?:persist\w*|kept|keeps?|retain\w*|preserv\w*|remain\w*|surviv\w*|carr(?:y|ies|ied) over)"
_KEEPS = re.compile(
    rf"\b{_STATE}\b.*\b(?:{_KEPT}|available|live)\b|\b(?:{_KEPT}|stateful)\b.*\b{_STATE}\b"
    r"|\b(?:stateful|persistent)\b.*\b(?:python|jupyter|notebook|environment|repl|tool|sandbox)\b",
    re.IGNORECASE,
)
_LOSES = re.compile(
    r"\bstateless\b|\bfresh\b.*\b(?:process|interpreter|environment|session|sandbox)\b"
    rf"|\b(?:no|without)\b.*\b{_STATE}\b.*\b(?:{_KEPT}|shared|between|across|over)\b"
    rf"|\b(?:not|never|nothing)\b.*\b{_KEPT}\b|n't\b.*\b{_KEPT}\b"
    rf"|\b{_STATE}\b.*\b(?:lost|forgotten|discarded|cleared|reset)\b",
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
    return find_promise(path.read_text(encoding="utf-8"), wanted)


def find_promise(prompt: str, name: str) -> Promise:
    """Return what a prompt promises, with the first sentence that does."""
    found: dict[Claim, str] = {}
    for part in _SENTENCE.split(prompt):
        sentence = part.strip(_LIST_MARKS)
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
