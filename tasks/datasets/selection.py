"""Selection of traces: one shuffled order of instances for every arm.

The order is arXiv 2603.01209's (appendix C.1): shuffle once, keep valid traces until the limit, leave the rest
unprocessed. `paired` retention and equal tokens are the ablations beside it.
"""

import hashlib
import json
import random
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain, islice

import polars as pl

from carryover.tasks.datasets.conversations import TrainingMessage
from carryover.tasks.datasets.dataset_spec import DatasetSpec
from carryover.tasks.datasets.truncation import Truncation
from carryover.tasks.traces.vocabulary import KeptStatus


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
    status: KeptStatus = "unprocessed"
    truncation: Truncation | None = None
    """The training text; None unless the trace is retained, once `select` has run."""

    @property
    def messages(self) -> tuple[TrainingMessage, ...]:
        """The messages of the training text."""
        if self.truncation:
            return tuple(each.message for each in self.truncation.messages)
        return ()

    @property
    def token_count(self) -> int:
        """Cost of the training text, in tokens."""
        if self.truncation:
            return self.truncation.token_count
        return 0

    @property
    def content_digest(self) -> str | None:
        """Digest of the training text; None without one."""
        content = json.dumps([[each.role, each.content, each.weight] for each in self.messages])
        if self.truncation:
            return hashlib.sha256(content.encode()).hexdigest()
        return None

    def skip(self, reason: str) -> None:
        """Leave the trace out, for its own reason or the given."""
        self.status = "skipped"
        self.reason = self.reason or reason
        self.truncation = None


Prepare = Callable[[Sequence[Candidate]], None]
"""Gives every trace its training text, or a reason."""


def order_candidates(verdicts: pl.DataFrame, contracts: Sequence[str], seed: int) -> list[Candidate]:
    """Return the contracts' traces in shuffled order, arm by arm."""
    frame = verdicts.filter(pl.col("contract").is_in(list(contracts)))
    # One place per instance and replicate, whatever the contract: all arms walk the instances in the same order.
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


def select(candidates: Sequence[Candidate], contracts: Sequence[str], spec: DatasetSpec, prepare: Prepare) -> None:
    """Decide which candidates are retained, skipped and left unprocessed."""
    if spec.retention == "paired":
        _keep(_whole_pairs(candidates, contracts), spec.maximum_kept, prepare)
    else:
        for arm in _arms(candidates, contracts):
            _keep([[candidate] for candidate in arm], spec.maximum_kept, prepare)
    if spec.matching == "tokens":
        _cut_to_equal_tokens(_arms(candidates, contracts))


def _whole_pairs(candidates: Sequence[Candidate], contracts: Sequence[str]) -> list[list[Candidate]]:
    """Return the candidates of each instance that has one per contract.

    Skip those of the others.
    """
    by_position = defaultdict(list)
    for candidate in candidates:
        by_position[candidate.position].append(candidate)
    pairs = []
    for _, group in sorted(by_position.items()):
        if {candidate.contract for candidate in group} == set(contracts):
            pairs.append(group)
            continue
        for candidate in group:
            candidate.skip("partner_missing")
    return pairs


def _cut_to_equal_tokens(arms: Sequence[Sequence[Candidate]]) -> None:
    """Cut every arm, in its order, to the tokens of the smallest.

    A cut candidate counts as unprocessed.
    """
    # In the shuffled order, so that what is cut is a random part of the arm.
    retained = [[each for each in arm if each.status == "retained"] for arm in arms]
    room = min(sum(candidate.token_count for candidate in arm) for arm in retained)
    for arm in retained:
        spent = 0
        for candidate in arm:
            spent += candidate.token_count
            if spent > room:
                candidate.status = "unprocessed"
                candidate.truncation = None


def _arms(candidates: Sequence[Candidate], contracts: Sequence[str]) -> list[list[Candidate]]:
    return [[candidate for candidate in candidates if candidate.contract == contract] for contract in contracts]


def _keep(groups: list[list[Candidate]], limit: int, prepare: Prepare) -> None:
    """Walk groups until `limit` traces are kept.

    A group is kept or skipped as one, and no more text is prepared than that takes.
    """
    kept = 0
    for start, group in enumerate(groups):
        if kept == limit:
            return
        if _is_good(group) and group[0].truncation is None:  # it is not prepared yet
            hopeful = islice(filter(_is_good, groups[start:]), limit - kept)
            prepare(list(chain.from_iterable(hopeful)))
        is_kept = _is_good(group)
        kept += is_kept
        for candidate in group:
            if is_kept:
                candidate.status = "retained"
            else:
                candidate.skip("partner_rejected")


def _is_good(group: Sequence[Candidate]) -> bool:
    return all(candidate.reason is None for candidate in group)
