"""Paired intervals and tests between the arms, which arXiv 2601.01569 lacks: the case is the unit."""

from collections.abc import Iterator

import numpy as np
import polars as pl
from scipy import stats

from carryover.tasks.analysis.decisions import holm
from carryover.tasks.analysis.paired_tests import signed_rank
from carryover.tasks.analysis.spec import Arm
from carryover.tasks.analysis.statistic_rows import StatisticGroup
from carryover.tasks.cave.arms.arm import ARMS
from carryover.tasks.traces.result_rows import StatisticRow

METRICS = ("passed_pct", "total_tokens", "reply_count")
REFERENCE = "persistent_code"
_CONFIDENCE, _RESAMPLES, _SEED = 0.95, 5_000, 0


def arm_statistics(turns: pl.DataFrame, run_id: str) -> list[StatisticRow]:
    """Return the differences between the persistent arm and each other one, by plan, suite and prompt factor.

    Turns of one case depend on each other, so each case counts once, by its mean over turns and replicates.
    """
    cases = turns.group_by("plan_digest", "model_name", "suite", "instruction", "arm", "case_id").agg(
        passed_pct=100.0 * pl.col("is_passed").mean(),
        total_tokens=(pl.col("prompt_tokens") + pl.col("completion_tokens")).mean(),
        reply_count=pl.col("reply_count").mean(),
    )
    groups = cases.partition_by("plan_digest", "model_name", "suite", "instruction", as_dict=True)
    return [row for key, frame in groups.items() for row in _group_rows(key, frame, run_id)]


def _group_rows(key: tuple[object, ...], cases: pl.DataFrame, run_id: str) -> Iterator[StatisticRow]:
    plan_digest, model_name, suite, instruction = map(str, key)
    group = StatisticGroup(run_id, plan_digest, "cave", model_name, "declared", instruction, suite)
    reference = cases.filter(pl.col("arm") == REFERENCE)
    others = [arm for arm in ARMS if arm != REFERENCE and arm in set(cases["arm"])]
    for metric in METRICS:
        pairs = {arm: _paired(reference, cases.filter(pl.col("arm") == arm), metric) for arm in others}
        tests = {arm: signed_rank(a - b) for arm, (a, b) in pairs.items() if a.size}
        corrected = dict(zip(tests, holm([test.p_value for test in tests.values()]), strict=True))
        for arm, test in tests.items():
            a, b = pairs[arm]
            low, high = _interval(a - b)
            values = {
                **test._asdict(),
                "mean_a": float(a.mean()),
                "mean_b": float(b.mean()),
                "estimate": float((a - b).mean()),
                "low": low,
                "high": high,
                "confidence": _CONFIDENCE,
                "interval_kind": "percentile",
                "p_holm": corrected[arm],
            }
            arms = Arm(None, REFERENCE), Arm(None, arm)
            yield group.row("paired", f"{REFERENCE}-{arm}", metric, *arms, **values)


def _paired(a: pl.DataFrame, b: pl.DataFrame, metric: str) -> tuple[np.ndarray, np.ndarray]:
    joined = a.select("case_id", a=metric).join(b.select("case_id", b=metric), on="case_id").sort("case_id")
    return joined["a"].to_numpy(), joined["b"].to_numpy()


def _interval(differences: np.ndarray) -> tuple[float | None, float | None]:
    """Return a percentile interval of the mean; none for fewer than two cases."""
    if differences.size < 2:
        return None, None
    found = stats.bootstrap(
        (differences,),
        np.mean,
        n_resamples=_RESAMPLES,
        confidence_level=_CONFIDENCE,
        method="percentile",
        rng=_SEED,
    ).confidence_interval
    return float(found.low), float(found.high)
