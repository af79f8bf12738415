"""The hypotheses of the laptop study: thresholds fixed before the full run, judged on the rows of `statistics`."""

import operator
import re
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Literal, NamedTuple, Self

from pydantic import Field, PlainValidator

from carryover.tasks.services.frozen_model import FrozenModel
from carryover.tasks.traces.result_rows import OVER_SEEDS, StatisticRow
from carryover.tasks.traces.vocabulary import LETTERS

SIGN_BASES = ("scratch", "common")
"""Bases that are to show the signs."""

_RELATIONS = {">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt}
_CRITERION = re.compile(r"(estimate|low|high) (>=|<=|>|<) (-?\d+(?:\.\d+)?)")


class Criterion(NamedTuple):
    """A bound on one number of a statistic."""

    text: str
    """E.g. `estimate >= 0.80`."""
    field: str
    relation: str
    threshold: float

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a bound; raise `ValueError` for anything else."""
        if (match := _CRITERION.fullmatch(str(text))) is None:
            raise ValueError(
                f"criterion {text!r} is not of the form 'estimate >= 0.8'; the fields are estimate, low, high"
            )
        return cls(text, match[1], match[2], float(match[3]))

    def holds(self, rows: Iterable[StatisticRow]) -> bool:
        """Tell whether a statistic keeps the bound under every method that gives the number; false if none does.

        Not every method gives every number: where nothing varies there is no BCa interval.
        """
        values = [value for row in rows if (value := getattr(row, self.field)) is not None]
        return bool(values) and all(_RELATIONS[self.relation](value, self.threshold) for value in values)


Criteria = tuple[Annotated[Criterion, PlainValidator(Criterion.parse)], ...]
Cell = Annotated[str, Field(pattern=r"^(P|S|I|IP)->(P|S|I|IP)$")]


class Protocol(FrozenModel):
    """Settings of the runs that give the judged numbers."""

    bucket: str
    """In distribution; every other bucket is judged by signs."""
    instances_per_cell: int
    """Fresh instances of each bucket, the same ones in every cell."""
    training_seeds: tuple[int, ...]
    """Seeds of every setting of the full run; pilots use others."""
    added_seeds: tuple[int, ...]
    """Further seeds of the main setting, added after the verdicts on the first ones."""
    injected_seeds: tuple[int, ...]
    """Seeds of the study of four contracts, for each base."""
    injected_instances_per_cell: int
    """Instances of each of its cells."""
    shuffled_seeds: tuple[int, ...]
    """Seeds of the control of shuffled labels, each with halves of its own."""
    confidence: float
    """Level of the intervals."""
    resamples: int
    """Bootstrap resamples."""
    equivalence_margin: float
    """Largest difference of normalized optimality that counts as equal."""


class Hypothesis(FrozenModel):
    """One claim with the numbers that decide it."""

    name: str
    claim: str
    """In words."""
    analysis: Literal[
        "mean", "difference", "ratio", "equivalence", "interaction", "interaction_ratio", "replicate_rejections"
    ]
    """Analysis of the statistic, as `statistics` calls it."""
    metric: str
    a: Cell | None = None
    """First cell, e.g. `P->S`; None for the interaction, which takes all four."""
    b: Cell | None = None
    """Second cell of a comparison."""
    criteria: Criteria
    """All must hold in distribution, e.g. `estimate >= 0.80`."""
    signs: Criteria = ()
    """All must hold on larger instances and for bases of `SIGN_BASES` that are not named; no claim there if empty."""
    bases: tuple[str, ...]
    """Bases of models that the criteria are about."""
    variants: tuple[str, ...] = ("main",)
    """Variants of the study that the claim is about."""
    seed_count: int | None = None
    """Training seeds of the t interval over seeds that decides the claim; None reads the bootstrap intervals."""

    def reads(self, row: StatisticRow) -> bool:
        """Tell whether a statistic is the one that decides the claim in its group."""
        cells = (_cell(row.train_a, row.runtime_a), _cell(row.train_b, row.runtime_b))
        return (
            row.analysis == self.analysis
            and row.metric == self.metric
            and row.variant in self.variants
            and self.seed_count == (row.pair_count if row.interval_kind == OVER_SEEDS else None)
            and (self.a is None or (self.a, self.b) == cells)
        )

    def criteria_in(self, base: str, bucket: str, protocol: Protocol) -> Criteria:
        """Return what must hold in a group; nothing where the claim says nothing about it."""
        if bucket == protocol.bucket and base in self.bases:
            return self.criteria
        return self.signs if base in SIGN_BASES else ()


class Verdict(NamedTuple):
    """A claim in one group of episodes."""

    hypothesis: str
    variant: str
    base: str
    visibility: str
    header: str
    bucket: str
    criteria: str
    """Bounds that had to hold."""
    estimate: float | None
    low: float | None
    """Lowest of the interval methods."""
    high: float | None
    """Highest of the interval methods."""
    holds: bool


class HypothesisFile(FrozenModel):
    """The file as it is in the repository."""

    protocol: Protocol
    hypothesis: tuple[Hypothesis, ...]


def read_hypotheses() -> HypothesisFile:
    """Return protocol and hypotheses of the file."""
    text = Path(__file__).with_name("hypotheses.toml").read_text(encoding="utf-8")
    return HypothesisFile.model_validate(tomllib.loads(text))


def judge(file: HypothesisFile, statistics: Iterable[StatisticRow]) -> list[Verdict]:
    """Return one verdict per hypothesis and group that has its statistic; a claim holds under every method or not."""
    rows = list(statistics)
    verdicts = []
    for hypothesis in file.hypothesis:
        groups: dict[tuple[str, ...], dict[str, StatisticRow]] = {}
        for row in rows:
            if hypothesis.reads(row):
                group = (row.variant, row.base, row.visibility, row.header, row.bucket)
                # a statistic may stand under several comparison groups with the same numbers
                groups.setdefault(group, {}).setdefault(row.method, row)
        for group, methods in sorted(groups.items()):
            _, base, _, _, bucket = group
            if criteria := hypothesis.criteria_in(base, bucket, file.protocol):
                shown = list(methods.values())
                verdict = Verdict(
                    hypothesis.name,
                    *group,
                    criteria=" and ".join(criterion.text for criterion in criteria),
                    estimate=shown[0].estimate,
                    low=min((row.low for row in shown if row.low is not None), default=None),
                    high=max((row.high for row in shown if row.high is not None), default=None),
                    holds=all(criterion.holds(shown) for criterion in criteria),
                )
                verdicts.append(verdict)
    return verdicts


def _cell(train: str | None, runtime: str | None) -> str | None:
    return None if runtime is None else f"{LETTERS.get(train or '', train)}->{LETTERS.get(runtime, runtime)}"
