"""Variation of wording and header in training traces.

It keeps small models from depending on one exact prompt.

Every variant is true of its own contract. Together the variants of one contract use the words of both, so that no word
of the other contract's prompt is new to a model that was trained on one; and the lists of the header are sometimes
empty under the persistent contract and filled under the stateless one. What differs between the contracts in every
variant is what the interpreter does.
"""

import random
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from carryover.tasks.traces.vocabulary import ContractName

HeaderForm = Literal["standard", "new_names", "none"]

WORDINGS: dict[str, tuple[str, ...]] = {
    ContractName.PERSISTENT: (
        "Runtime: PERSISTENT, not RESET. Names stay defined after every block; reuse them.",
        "The environment is not fresh: what each block defined stays. Reuse what you need.",
        "Runtime: PERSISTENT. Every block runs in one environment; no need to import or define names again.",
        "Names stay. Runtime: PERSISTENT.",
    ),
    ContractName.STATELESS: (
        "Runtime: RESET, not PERSISTENT. Every block runs in a fresh environment; define what you need again.",
        "The environment is fresh: no names stay defined after a block; you cannot reuse them.",
        "Runtime: RESET. Nothing stays; import and define names again in every block.",
        "Every block is fresh. Runtime: RESET.",
    ),
    ContractName.INJECTED: (
        "Runtime: INJECTED. Names do not stay; {names} are there in every block.",
        "Every block is fresh, but {names} are bound anew.",
    ),
    ContractName.INJECTED_PERSISTENT: (
        "Runtime: INJECTED and PERSISTENT. Names stay; {names} are bound anew.",
        "Names stay defined, and {names} follow what you learn.",
    ),
}
"""Other wordings of the runtime instruction, by contract; `{names}` are those that injection binds."""

CONTRAST = {"persistent": "persistent, not reset", "reset": "reset, not persistent"}
"""The header's word for the runtime, with the word for the other one."""

STANDARD_SHARE = 0.4
"""Share of episodes with the standard instruction; drawn apart, share with the standard header."""
SILENT_SHARE = 0.15
"""Share of episodes without any runtime instruction."""
NO_HEADER_SHARE = 0.3
"""Share of episodes without a header."""


class Variation(NamedTuple):
    """Wording of one episode's runtime instruction and header."""

    wording: str | None
    """Text in place of the runtime instruction; empty leaves it out, null keeps the standard one."""
    header_form: HeaderForm

    def instruction(self, standard: str) -> str:
        """Return the runtime instruction in this wording, or empty."""
        if self.wording is None:
            return standard
        return self.wording

    def header(self, standard: Mapping[str, Any], known_names: Collection[str]) -> dict[str, Any] | None:
        """Return the header in this form; null leaves it out.

        `standard` holds `runtime`, `active_globals` and `last_step_globals`; `known_names` are the user names that
        were alive before the last block.
        """
        match self.header_form:
            case "standard":
                return dict(standard)
            case "none":
                return None
            case "new_names":
                new_names = [name for name in standard["last_step_globals"] if name not in known_names]
                return {"runtime": CONTRAST.get(standard["runtime"], standard["runtime"]), "new_globals": new_names}


def wordings(contract: str, known_names: Sequence[str] = ()) -> tuple[str, ...]:
    """Return a contract's wordings, with the names that injection binds."""
    *first, last = known_names or ("nothing",)
    listed = f"{', '.join(first)} and {last}" if first else last
    return tuple(text.format(names=listed) for text in WORDINGS.get(contract, ()))


def draw_variation(contract: str, instance_id: str, known_names: Sequence[str] = ()) -> Variation:
    """Return an episode's variation, drawn equally under all contracts.

    `known_names` are those that a contract with injection binds.
    """
    draw = random.Random(f"variation {instance_id}")
    wording_draw = draw.random()
    header_draw = draw.random()
    choice = draw.random()
    worded = wordings(contract, known_names)
    wording: str | None = None
    if STANDARD_SHARE <= wording_draw < STANDARD_SHARE + SILENT_SHARE:
        wording = ""
    elif wording_draw >= STANDARD_SHARE + SILENT_SHARE and worded:
        wording = worded[int(choice * len(worded))]
    if header_draw < STANDARD_SHARE:
        return Variation(wording, "standard")
    if header_draw < STANDARD_SHARE + NO_HEADER_SHARE:
        return Variation(wording, "none")
    return Variation(wording, "new_names")
