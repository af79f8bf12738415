"""The verdict of a night: each cell's newest episodes against its baseline, on equal instances and decoding seeds."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from carryover.tasks.analysis.alignment import align, arm_table
from carryover.tasks.analysis.decisions import holm
from carryover.tasks.analysis.intervals import bootstrap_intervals, difference, point_estimate, ratio
from carryover.tasks.analysis.paired_tests import signed_rank
from carryover.tasks.analysis.spec import StatisticsSpec
from carryover.tasks.nightly.identity import PARTS, RunFacts, describe, differing, digests, identify
from carryover.tasks.nightly.spec import Thresholds
from carryover.tasks.traces.result_rows import NightVerdictRow
from carryover.tasks.traces.rows import FinishReason

CELL = (
    "base", "model_name", "train_contract", "training_seed", "runtime_contract", "visibility", "header", "bucket",
)  # fmt: skip
PAIR = ("instance_id", "replicate")
OUTCOME = ("transcript_digest", "finish_reason", "score")
"""Columns equal in identical episodes: scores may change without a reply, if an environment or a scoring did."""
LEAST_SHARE = 0.9
"""Share of the baseline's episodes, or of a first night's, below which nothing is said of a cell."""


class Night(NamedTuple):
    """Run, variants and thresholds of a night's judgement."""

    run_id: str
    plan_digest: str
    study_variant: str
    series: str
    judged_at: datetime
    thresholds: Thresholds
    statistics: StatisticsSpec
    facts: Mapping[str, RunFacts]
    """Facts of each run, by its id."""


class _Comparison(NamedTuple):
    """A cell's pairs and what they measure."""

    values: dict[str, Any]
    """Fields of its row."""
    ended_share: float
    """Of the night's episodes, those that ended without `error`."""
    score_difference: float | None = None


def judge_night(episodes: pl.DataFrame, night: Night) -> list[NightVerdictRow]:
    """Return one row per cell that the night played.

    Args:
        episodes: A plan's evaluation episodes, every attempt, as `sql/commands/judged_episodes.sql` returns them.
        night: The run that is judged.
    """
    played = _newest(episodes.filter(pl.col("run_id") == night.run_id)).sort(*CELL, *PAIR)
    cells = [_compare(frame, episodes, night) for frame in played.partition_by(CELL, maintain_order=True)]
    corrected = holm([cell.values[name] for cell in cells for name in ("score_p_value", "token_p_value")])
    shared = dict.fromkeys(NightVerdictRow.model_fields) | {
        "run_id": night.run_id,
        "plan_digest": night.plan_digest,
        "series": night.series,
        "threshold_json": night.thresholds.model_dump_json(),
        "method": "no baseline",
        "judged_at": night.judged_at,
    }
    rows = []
    for cell, score, tokens in zip(cells, corrected[::2], corrected[1::2], strict=True):
        verdict = _verdict(cell, (score, tokens), night.thresholds)
        told = {"score_p_holm": score, "token_p_holm": tokens, "verdict": verdict}
        rows.append(NightVerdictRow.model_validate(shared | told | cell.values))
    return rows


def _newest(episodes: pl.DataFrame) -> pl.DataFrame:
    """Return the last attempt at each episode."""
    return episodes.sort("started_at", "attempt").unique([*CELL, *PAIR], keep="last")


def _baseline(frame: pl.DataFrame, episodes: pl.DataFrame, night: Night) -> pl.DataFrame:
    """Return the study's episodes of a cell with the night's decoding seeds, else those of the series' first night.

    A night that was killed, or too incomplete to finish, is no baseline.
    """
    same = episodes.join(frame, on=[*CELL, "replicate"], how="semi", nulls_equal=True)
    earlier = same.filter((pl.col("run_id") != night.run_id) & (pl.col("finish_reason") != FinishReason.ERROR.value))
    study = _newest(earlier.filter(pl.col("variant") == night.study_variant))
    if study.height:
        return study
    nights = earlier.filter((pl.col("variant") == night.series) & pl.col("is_of_finished_run")).sort("started_at")
    return _newest(nights.filter(pl.col("run_id") == pl.col("run_id").first()))


def _compare(frame: pl.DataFrame, episodes: pl.DataFrame, night: Night) -> _Comparison:
    baseline = _baseline(frame, episodes, night)
    ended = frame.filter(pl.col("finish_reason") != FinishReason.ERROR.value)
    is_same = [pl.col(name).eq_missing(pl.col(f"{name}_before")) for name in OUTCOME]
    ended_share = ended.height / frame.height
    pairs = ended.join(baseline, on=[*CELL, *PAIR], suffix="_before", nulls_equal=True)
    identity = identify(frame, night.facts[night.run_id])
    values: dict[str, Any] = {
        **frame.select(CELL).row(0, named=True),
        "baseline_run_id": None,
        "pair_count": pairs.height,
        "unpaired_count": baseline.height - pairs.height,
        "identical_count": pairs.drop_nulls("transcript_digest").filter(is_same).height,
        "differing": (),
        "identity_json": json.dumps(digests(identity)),
        "note": None,
        "score_p_value": None,
        "token_p_value": None,
    }
    if not baseline.height:
        return _Comparison(values, ended_share)
    before = baseline.sort("started_at")["run_id"][-1]
    was = identify(baseline, night.facts[before])
    names = differing(identity, was)
    scores, tokens = (
        align([arm_table(side, metric) for side in (ended, baseline)]) for metric in ("score", "total_tokens")
    )
    means = [float(side.mean()) if side.size else None for side in scores.per_instance()]
    intervals = bootstrap_intervals(tokens, ratio, night.statistics)
    interval = next((one for one in reversed(intervals) if one.low is not None), intervals[0])
    tests = [signed_rank(np.subtract(*metric.per_instance())) for metric in (scores, tokens)]
    values |= {
        "baseline_run_id": before,
        "differing": names,
        "note": describe(identity, was, names),
        "mean_score": means[0],
        "baseline_mean_score": means[1],
        "score_p_value": tests[0].p_value,
        "token_p_value": tests[1].p_value,
        "token_ratio": interval.estimate,
        "low": interval.low,
        "high": interval.high,
        "method": f"{tests[0].method}; tokens: {interval.method}",
    }
    return _Comparison(values, ended_share, point_estimate(scores, difference))


def _verdict(cell: _Comparison, corrected: Sequence[float | None], thresholds: Thresholds) -> str:
    """Return the verdict from corrected p-values and effect sizes."""
    paired, unpaired = cell.values["pair_count"], cell.values["unpaired_count"]
    if cell.values["baseline_run_id"] is None:
        return "first" if cell.ended_share >= LEAST_SHARE else "incomplete"
    if paired < LEAST_SHARE * (paired + unpaired):
        return "incomplete"
    if cell.values["identical_count"] == paired and not unpaired:
        return "identical"
    change, tokens = cell.score_difference or 0.0, cell.values["token_ratio"]
    has_score, has_tokens = (p_value is not None and p_value < thresholds.alpha for p_value in corrected)
    rise, most = 1.0 if tokens is None else tokens, 1 + thresholds.token_rise
    if (has_score and change <= -thresholds.score_drop) or (has_tokens and rise >= most):
        return "regression"
    if (has_score and change >= thresholds.score_drop) or (has_tokens and rise <= 1 / most):
        return "improvement"
    return "unchanged"


def summarize(verdicts: Sequence[NightVerdictRow]) -> str:
    """Return a night's verdicts in a sentence: equal to the study, or how many cells got which and what differs."""
    counts = {word: sum(row.verdict == word for row in verdicts) for word in sorted({row.verdict for row in verdicts})}
    names = sorted({name for row in verdicts for name in row.differing})
    unknown = {name for row in verdicts for name, digest in json.loads(row.identity_json).items() if digest is None}
    told = ", ".join(f"{count} {word}" for word, count in counts.items())
    if set(counts) == {"first"}:
        return f"{told}: the baseline of this series"
    is_identical = set(counts) == {"identical"}
    if is_identical:
        told = f"all {len(verdicts)} cells equal their baseline to the token"
    if names:
        return f"{told}; not as for the baseline: {', '.join(names)}"
    if is_identical:
        return told
    told += f", and nothing else differs: {', '.join(name for name in PARTS if name not in unknown)} are the baseline's"
    return f"{told}; not compared where unknown: {', '.join(sorted(unknown))}" if unknown else told
