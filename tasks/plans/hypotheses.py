"""Hypotheses: thresholds fixed beforehand, judged on rows of `statistics`."""

import operator
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Literal, NamedTuple, Self

from pydantic import Field, PlainValidator

from carryover.tasks.services.frozen_model import FrozenModel
from carryover.tasks.traces.result_rows import OVER_SEEDS, StatisticRow
from carryover.tasks.traces.vocabulary import LETTERS

SIGN_BASES = ("scratch", "common")
"""Bases that are to show the signs."""

SCRIPT_BASE = "teacher"
"""Base of the scripted teachers' episodes beside the models."""

ALONE = ("mean", "replicate_rejections")
"""Analyses of one cell, or of one model against itself: they compare no pairs."""

FULFILLED_BY = (
    "forced by the contract",
    "fulfilled by the scripts alone",
    "fulfilled by the scripts alone where they were played",
    "by the models and not by the scripts",
    "without scripts beside them",
)
"""What fulfils a claim that holds, in words."""

ScriptOutcome = Literal["fulfilled", "not fulfilled", "not played"]
"""Whether the scripted teachers keep a claim's bounds."""

_RELATIONS = {">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt}
_CRITERION = re.compile(r"(estimate|low|high) (>=|<=|>|<) (-?\d+(?:\.\d+)?)")


class Group(NamedTuple):
    """Episodes that are compared with each other."""

    variant: str
    base: str
    visibility: str
    header: str
    bucket: str


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
        """Tell whether a statistic keeps the bound under every method.

        Not every method gives every number: where nothing varies there is no BCa interval.
        """
        given = [getattr(row, self.field) for row in rows]
        values = [value for value in given if value is not None]
        keeps = _RELATIONS[self.relation]
        return bool(values) and all(keeps(value, self.threshold) for value in values)


Criteria = tuple[Annotated[Criterion, PlainValidator(Criterion.parse)], ...]
Cell = Annotated[str, Field(pattern=r"^(P|S|I|IP|recent-\d+)->(P|S|I|IP|recent-\d+)$")]


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
    dose_seeds: tuple[int, ...]
    """Seeds of the studies of the teacher's batch, of the mixture and of lifetimes, for each dose."""
    dose_instances_per_cell: int
    """Instances of each of their cells."""
    reinforced_seeds: tuple[int, ...]
    """Seeds of the study of reinforcement."""
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
    forced: str | None = None
    """What of the contract forces the claim, whatever the model does; None where nothing does."""
    seed_count: int | None = None
    """Training seeds of the t interval over seeds that decides the claim; None reads the bootstrap intervals."""

    @property
    def cells(self) -> tuple[str, ...]:
        """Cells of the claim; none for the interaction of all four."""
        return tuple(cell for cell in (self.a, self.b) if cell is not None)

    def reads(self, row: StatisticRow) -> bool:
        """Tell whether a statistic decides the claim in its group."""
        seed_count = None
        if row.interval_kind == OVER_SEEDS:
            seed_count = row.pair_count
        return row.variant in self.variants and self.seed_count == seed_count and self._is_about(row)

    def reads_script(self, row: StatisticRow) -> bool:
        """Tell whether a statistic is the claim's, on the scripts.

        Scripts have no training seeds.
        """
        return row.base == SCRIPT_BASE and row.interval_kind != OVER_SEEDS and self._is_about(row)

    def _is_about(self, row: StatisticRow) -> bool:
        cells = (_cell(row.train_a, row.runtime_a), _cell(row.train_b, row.runtime_b))
        has_cells = self.a is None or (self.a, self.b) == cells
        return row.analysis == self.analysis and row.metric == self.metric and has_cells

    def criteria_in(self, base: str, bucket: str, protocol: Protocol) -> Criteria:
        """Return a group's criteria; nothing where the claim is silent."""
        if bucket == protocol.bucket and base in self.bases:
            return self.criteria
        if base in SIGN_BASES:
            return self.signs
        return ()


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
    verdict: Literal["holds", "does not hold", "no verdict"]
    by_script: ScriptOutcome
    """Whether the scripted teachers keep the same bounds, without a model."""
    note: str
    """What of the contract forces the claim, or why there is no verdict; else empty."""


class Evidence(NamedTuple):
    """A plan's evidence by group of variant, base, visibility, header, bucket."""

    no_verdict_reasons: Mapping[Group, str | None]
    """Why nothing is judged in a group; None where something is."""
    ended_in_all_cells: Mapping[Group, int]
    """Pairs that ended in all four cells of the 2x2."""
    ended_pairs: Mapping[tuple[Group, frozenset[str]], int]
    """Pairs that ended in two cells."""
    ended_pair_minimum: int
    endless_metrics: frozenset[str]
    """Metrics on which a verdict needs no pairs that ended."""

    def why_no_verdict(self, hypothesis: Hypothesis, group: Group) -> str | None:
        """Return why a claim is not judged in a group, or None."""
        if group not in self.no_verdict_reasons:
            return "no evaluated episode counts: the last attempts ended with an error"
        reason = self.no_verdict_reasons[group]
        needs_pairs = hypothesis.analysis not in ALONE and hypothesis.metric not in self.endless_metrics
        if reason is not None or not needs_pairs:
            return reason
        if hypothesis.cells:
            ended = self.ended_pairs.get((group, frozenset(hypothesis.cells)), 0)
        else:
            ended = self.ended_in_all_cells[group]
        if ended >= self.ended_pair_minimum:
            return None
        return f"{ended} pairs ended in the compared cells: a verdict needs {self.ended_pair_minimum}"


class HypothesisFile(FrozenModel):
    """The file as it is in the repository."""

    protocol: Protocol
    hypothesis: tuple[Hypothesis, ...]


@cache
def read_hypotheses() -> HypothesisFile:
    """Return protocol and hypotheses of the file."""
    text = Path(__file__).with_name("hypotheses.toml").read_text(encoding="utf-8")
    return HypothesisFile.model_validate(tomllib.loads(text))


def judge(file: HypothesisFile, statistics: Iterable[StatisticRow], evidence: Evidence) -> list[Verdict]:
    """Return a verdict per hypothesis and group.

    A claim holds under every method or not.
    """
    rows = list(statistics)
    verdicts = []
    for hypothesis in file.hypothesis:
        own = _by_group(row for row in rows if hypothesis.reads(row))
        scripts = _by_group(row for row in rows if hypothesis.reads_script(row))
        for group, shown in sorted(own.items()):
            criteria = hypothesis.criteria_in(group.base, group.bucket, file.protocol)
            if criteria:
                reason = evidence.why_no_verdict(hypothesis, group)
                compared = Compared(criteria, shown, scripts.get(group._replace(base=SCRIPT_BASE), []))
                verdicts.append(_verdict(hypothesis, group, compared, reason))
    return verdicts


def _by_group(rows: Iterable[StatisticRow]) -> dict[Group, list[StatisticRow]]:
    """Return the statistics of each group, one per method."""
    groups: dict[Group, dict[str, StatisticRow]] = {}
    for row in rows:
        group = Group(row.variant, row.base, row.visibility, row.header, row.bucket)
        # a statistic may stand under several comparison groups with the same numbers
        groups.setdefault(group, {}).setdefault(row.method, row)
    return {group: list(methods.values()) for group, methods in groups.items()}


class Compared(NamedTuple):
    """A claim's bounds in a group, and their context."""

    criteria: Criteria
    models: list[StatisticRow]
    scripts: list[StatisticRow]

    def outcome(self) -> Literal["holds", "does not hold"]:
        """Tell whether the models keep every bound."""
        if all(criterion.holds(self.models) for criterion in self.criteria):
            return "holds"
        return "does not hold"

    def outcome_of_scripts(self) -> ScriptOutcome:
        """Tell whether the scripted teachers keep every bound."""
        if not self.scripts:
            return "not played"
        is_kept = all(criterion.holds(self.scripts) for criterion in self.criteria)
        if is_kept:
            return "fulfilled"
        return "not fulfilled"


def _verdict(hypothesis: Hypothesis, group: Group, compared: Compared, reason: str | None) -> Verdict:
    shown = compared.models
    lows = [row.low for row in shown if row.low is not None]
    highs = [row.high for row in shown if row.high is not None]
    forced = ""
    if hypothesis.forced:
        forced = f"forced: {hypothesis.forced}"
    return Verdict(
        hypothesis.name,
        *group,
        criteria=" and ".join(criterion.text for criterion in compared.criteria),
        estimate=shown[0].estimate,
        low=min(lows, default=None),
        high=max(highs, default=None),
        verdict=compared.outcome() if reason is None else "no verdict",
        by_script=compared.outcome_of_scripts(),
        note=reason or forced,
    )


def count_claims(verdicts: Iterable[Verdict]) -> list[str]:
    """Return lines that count claims, by outcome and cause."""
    by_claim: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        by_claim.setdefault(verdict.hypothesis, []).append(verdict)
    counts: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    missed: list[str] = []
    for claim, judged in by_claim.items():
        outcome = _outcome(judged)
        counts[outcome] += 1
        if outcome == "holds":
            reasons[_fulfilled_by(judged)] += 1
        if outcome == "does not hold":
            missed.append(claim)
    held = f"{counts['holds']} hold, {_count_missed(missed)}, {counts['no verdict']} without a verdict"
    lines = [f"{len(by_claim)} distinct claims in {sum(map(len, by_claim.values()))} verdicts: {held}"]
    if reasons:
        shares = [f"{reasons[words]} {words}" for words in FULFILLED_BY if reasons[words]]
        lines.append(f"of those that hold: {', '.join(shares)}")
    return lines


def _count_missed(claims: Sequence[str]) -> str:
    """Return the count of claims that do not hold, with their names."""
    verb = "does" if len(claims) == 1 else "do"
    names = f" ({', '.join(claims)})" if claims else ""
    return f"{len(claims)} {verb} not{names}"


def _outcome(verdicts: list[Verdict]) -> str:
    """Return a claim's outcome: it holds if every judged group does."""
    outcomes = {verdict.verdict for verdict in verdicts} - {"no verdict"}
    if not outcomes:
        return "no verdict"
    if "does not hold" in outcomes:
        return "does not hold"
    return "holds"


def _fulfilled_by(verdicts: list[Verdict]) -> str:
    forced, by_scripts, by_those_played, by_models, unknown = FULFILLED_BY
    held = [verdict for verdict in verdicts if verdict.verdict == "holds"]
    if all(verdict.note.startswith("forced") for verdict in held):
        return forced
    outcomes = {verdict.by_script for verdict in held}
    if "not fulfilled" in outcomes:
        return by_models
    if "fulfilled" not in outcomes:
        return unknown
    return by_those_played if "not played" in outcomes else by_scripts


def _cell(train: str | None, runtime: str | None) -> str | None:
    if runtime is None:
        return None
    return f"{LETTERS.get(train or '', train)}->{LETTERS.get(runtime, runtime)}"
