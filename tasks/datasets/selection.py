"""Selection of a dataset's traces: one shuffled order of instances for every arm, walked until enough are good.

The order is arXiv 2603.01209's (appendix C.1): shuffle once, keep valid traces until the limit, leave the rest
unprocessed. `paired` retention and equal tokens are the ablations beside it.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import polars as pl

from carryover.tasks.datasets.conversations import TrainingMessage
from carryover.tasks.datasets.spec import DatasetSpec
from carryover.tasks.datasets.truncation import Truncation

PARTNER_MISSING = "partner_missing"
"""Reason of a trace whose instance has no trace in another arm, under `paired` retention."""
PARTNER_REJECTED = "partner_rejected"
"""Reason of a good trace whose partner in another arm is not, under `paired` retention."""


@dataclass
class Candidate:
    """A trace on its way into the dataset."""

    episode_id: str
    contract: str
    instance_id: str
    replicate: int
    position: int
    """Place of the instance in the shuffled order; equal in every arm."""
    reason: str | None
    measured: float | None
    threshold: float | None
    status: Literal["retained", "skipped", "unprocessed"] = "unprocessed"
    truncation: Truncation | None = None

    @property
    def messages(self) -> tuple[TrainingMessage, ...]:
        """The training text of a retained trace."""
        return tuple(each.message for each in self.truncation.messages) if self.truncation else ()

    @property
    def token_count(self) -> int:
        """Cost of the training text, in tokens."""
        return self.truncation.token_count if self.truncation else 0

    def skip(self, reason: str | None = None) -> None:
        """Leave the trace out, for its own reason or a given one."""
        self.status = "skipped"
        self.reason = reason or self.reason
        self.truncation = None


Group = tuple[Candidate, ...]
"""Traces that are kept together or not at all."""
Prepare = Callable[[Sequence[Candidate]], None]
"""Gives every trace its training text, or a reason."""


def order_candidates(verdicts: pl.DataFrame, contracts: Sequence[str], seed: int) -> list[Candidate]:
    """Return the traces of the contracts in the order in which they are considered, arm by arm."""
    frame = verdicts.filter(pl.col("contract").is_in(list(contracts)))
    keys = sorted(set(frame.select("instance_id", "replicate").iter_rows()))
    random.Random(seed).shuffle(keys)
    positions = {key: position for position, key in enumerate(keys)}
    candidates = [
        Candidate(position=positions[row["instance_id"], row["replicate"]], **row)
        for row in frame.select(
            "episode_id", "contract", "instance_id", "replicate", "reason", "measured", "threshold"
        ).iter_rows(named=True)
    ]
    return sorted(candidates, key=lambda each: (contracts.index(each.contract), each.position, each.episode_id))


def most_kept(candidates: Sequence[Candidate], contracts: Sequence[str], spec: DatasetSpec) -> int:
    """Return how many traces can be kept: those of every arm that no check rejected, up to the limit."""
    good = [sum(candidate.reason is None for candidate in arm) for arm in _arms(candidates, contracts)]
    return sum(min(count, spec.maximum_kept) for count in good)


def select(candidates: Sequence[Candidate], contracts: Sequence[str], spec: DatasetSpec, prepare: Prepare) -> None:
    """Decide which candidates are retained, skipped and left unprocessed."""
    if spec.retention == "paired":
        by_position: dict[int, list[Candidate]] = {}
        for candidate in candidates:
            by_position.setdefault(candidate.position, []).append(candidate)
        pairs: list[Group] = []
        for _, group in sorted(by_position.items()):
            if {candidate.contract for candidate in group} == set(contracts):
                pairs.append(tuple(group))
            else:
                for candidate in group:
                    candidate.skip(candidate.reason or PARTNER_MISSING)
        _keep(pairs, spec.maximum_kept, prepare)
    else:
        for arm in _arms(candidates, contracts):
            _keep([(candidate,) for candidate in arm], spec.maximum_kept, prepare)
    if spec.matching == "tokens":
        # Every arm is cut, in its order, to the tokens of the smallest; what is cut counts as unprocessed.
        arms = [[each for each in arm if each.status == "retained"] for arm in _arms(candidates, contracts)]
        room = min(sum(candidate.token_count for candidate in arm) for arm in arms)
        for arm in arms:
            spent = 0
            for candidate in arm:
                spent += candidate.token_count
                if spent > room:
                    candidate.status = "unprocessed"
                    candidate.truncation = None


def _arms(candidates: Sequence[Candidate], contracts: Sequence[str]) -> list[list[Candidate]]:
    return [[candidate for candidate in candidates if candidate.contract == contract] for contract in contracts]


def _keep(groups: Sequence[Group], limit: int, prepare: Prepare) -> None:
    """Walk the groups until `limit` are kept, preparing no more text than that takes."""
    kept = start = 0
    while start < len(groups) and kept < limit:
        end, hopeful = start, 0
        while end < len(groups) and kept + hopeful < limit:
            hopeful += _is_good(groups[end])
            end += 1
        prepare([candidate for group in groups[start:end] if _is_good(group) for candidate in group])
        for group in groups[start:end]:
            is_kept = _is_good(group)
            kept += is_kept
            for candidate in group:
                if is_kept:
                    candidate.status = "retained"
                else:
                    candidate.skip(candidate.reason or PARTNER_REJECTED)
        start = end


def _is_good(group: Group) -> bool:
    return all(candidate.reason is None for candidate in group)
