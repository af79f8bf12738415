"""Statistics that arXiv 2601.01569 lacks: the case is the unit."""

from collections.abc import Iterator
from itertools import product

import polars as pl

from carryover.tasks.analysis.alignment import Aligned
from carryover.tasks.analysis.decisions import holm
from carryover.tasks.analysis.intervals import bootstrap_intervals, difference, itself
from carryover.tasks.analysis.paired_tests import signed_rank
from carryover.tasks.analysis.statistic_rows import StatisticGroup
from carryover.tasks.analysis.statistics_spec import ComparedArm, StatisticsSpec
from carryover.tasks.cave.arms.arm import ARMS, ArmName
from carryover.tasks.traces.result_rows import StatisticRow

METRICS = ("passed_pct", "total_tokens", "reply_count")
REFERENCE: ArmName = "persistent_code"
FEW_CASES = 10
"""Fewer than these are noted: an interval over them says little."""
_SPEC = StatisticsSpec()


def arm_statistics(turns: pl.DataFrame, run_id: str) -> list[StatisticRow]:
    """Return each arm's means and the persistent arm's differences.

    Turns of one case depend on each other, so each case counts once, by its mean over turns and replicates.
    """
    cases = turns.group_by("plan_digest", "model_name", "suite", "instruction", "arm", "case_id").agg(
        passed_pct=100.0 * pl.col("is_passed").mean(),
        total_tokens=(pl.col("prompt_tokens") + pl.col("completion_tokens")).mean(),
        reply_count=pl.col("reply_count").mean(),
    )
    groups = cases.partition_by("plan_digest", "model_name", "suite", "instruction", as_dict=True)
    rows = []
    for key, frame in groups.items():
        rows += _group_rows(key, frame, run_id)
    return rows


def _group_rows(key: tuple[object, ...], cases: pl.DataFrame, run_id: str) -> Iterator[StatisticRow]:
    plan_digest, model_name, suite, instruction = map(str, key)
    group = StatisticGroup(run_id, plan_digest, "cave", model_name, "declared", instruction, suite)
    by_arm = {arm: cases.filter(arm=arm).sort("case_id") for arm in ARMS}
    by_arm = {arm: of_arm for arm, of_arm in by_arm.items() if of_arm.height}
    for arm, metric in product(by_arm, METRICS):
        yield _mean_row(group, arm, metric, by_arm[arm])
    if REFERENCE not in by_arm:
        return
    reference = by_arm.pop(REFERENCE)
    for metric in METRICS:
        pairs = {arm: _paired(reference, of_arm, metric) for arm, of_arm in by_arm.items()}
        yield from _paired_rows(group, metric, {arm: pair for arm, pair in pairs.items() if pair.instance_count})


def _mean_row(group: StatisticGroup, arm: str, metric: str, of_arm: pl.DataFrame) -> StatisticRow:
    """Return an arm's mean with its interval."""
    alone = Aligned(((None, 0),), (of_arm[metric].to_numpy().reshape(1, -1),))
    interval = bootstrap_intervals(alone, itself, _SPEC)[0]
    values = {**interval._asdict(), "mean_a": interval.estimate, "confidence": _SPEC.confidence}
    return group.row("arm_mean", arm, metric, ComparedArm(None, arm), **values)


def _paired_rows(group: StatisticGroup, metric: str, pairs: dict[str, Aligned]) -> Iterator[StatisticRow]:
    """Yield the reference's differences to each arm, Holm-corrected by metric."""
    tests = {arm: signed_rank(pair.arms[0][0] - pair.arms[1][0]) for arm, pair in pairs.items()}
    # A family is the reference against every arm that played; each metric is a question of its own.
    corrected = dict(zip(tests, holm([test.p_value for test in tests.values()]), strict=True))
    for arm, test in tests.items():
        interval = bootstrap_intervals(pairs[arm], difference, _SPEC)[0]
        few = None
        if test.pair_count < FEW_CASES:
            few = f"fewer than {FEW_CASES} cases"
        notes = [note for note in (few, test.note, interval.note) if note]
        values = {
            **test._asdict(),
            "note": "; ".join(notes) or None,
            "mean_a": float(pairs[arm].arms[0].mean()),
            "mean_b": float(pairs[arm].arms[1].mean()),
            "estimate": interval.estimate,
            "low": interval.low,
            "high": interval.high,
            "confidence": _SPEC.confidence,
            "interval_kind": interval.interval_kind,
            "p_holm": corrected[arm],
        }
        arms = (ComparedArm(None, REFERENCE), ComparedArm(None, arm))
        yield group.row("paired", f"{REFERENCE}-{arm}", metric, *arms, **values)


def _paired(a: pl.DataFrame, b: pl.DataFrame, metric: str) -> Aligned:
    joined = a.select("case_id", a=metric).join(b.select("case_id", b=metric), on="case_id").sort("case_id")
    arms = (joined["a"].to_numpy().reshape(1, -1), joined["b"].to_numpy().reshape(1, -1))
    return Aligned(((None, 0),), arms)
