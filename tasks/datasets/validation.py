"""Data checks on traces: measurements, and one verdict each (C.1.1)."""

import hashlib
from collections import Counter
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Any

import polars as pl

from carryover.tasks.checks.suites import Check
from carryover.tasks.datasets.dataset_spec import ValidationSpec
from carryover.tasks.services.progress import Advance, OpenBar, no_bar
from carryover.tasks.services.syntax import calls_finish
from carryover.tasks.traces.frames import Frame, lazy
from carryover.tasks.traces.rows import HARMLESS_ERRORS
from carryover.tasks.traces.training_rows import TraceVerdictRow
from carryover.tasks.traces.vocabulary import FinishReason

GIVEN_UP = "given_up"
"""Reason of an episode that ended with `error` for good: its endpoint or runtime failed, so it is no trace to judge."""

_ATTEMPT_OF = ("plan_digest", "variant", "runtime_contract", "instance_id", "replicate")


def rules(spec: ValidationSpec) -> tuple[Check, ...]:
    """Return the checks in order; the first that fails names the reason.

    The first two say something about the recording, not about the teacher, so the gate holds more traces to them.
    `zombie_loop` is Table 5's repetitive recovery loop.
    """
    recorded: dict[str, Any] = {"kind": "between", "minimum_share": spec.minimum_recorded_share}
    valid: dict[str, Any] = recorded | {"minimum_share": spec.minimum_yield}
    return (
        Check(name="file_corrupt", column="recorded_step_count", minimum=1, **recorded),
        Check(name="result_file_missing", column="result_count", minimum=1, **recorded),
        Check(name="score_too_low", column="score", minimum=spec.minimum_score, **valid),
        Check(name="no_finish_tool", column="finish_call_count", minimum=1, **valid),
        Check(name="zombie_loop", column="loop_similarity", maximum=spec.maximum_loop_similarity, **valid),
        Check(name="high_error_density", column="error_density", maximum=spec.maximum_error_density, **valid),
    )


REASONS = tuple(rule.name for rule in rules(ValidationSpec()))
"""Why a trace is rejected, in the order of the checks."""


def judge_traces(
    episodes: Frame, turns: Frame, steps: Frame, errors: Frame, spec: ValidationSpec, *, open_bar: OpenBar = no_bar
) -> pl.DataFrame:
    """Measure every rule on every trace and name the first that fails.

    Return the columns of `TraceVerdictRow` but for `run_id`, ordered by contract, instance and replicate. An attempt
    that a later attempt of the same episode replaced is no trace. An episode whose last attempt ended with `error` is
    none either: no rule is held against it, and its reason is `given_up`. Errors of injected faults are left out of the
    error density.
    """
    is_latest = pl.col("attempt") == pl.col("attempt").max().over(_ATTEMPT_OF)
    known = lazy(episodes).filter(is_latest).select(
        "episode_id", "instance_id", "replicate", "score", "finish_reason", contract="runtime_contract",
        result_count=pl.col("score").is_not_null().cast(pl.Int64),
    ).collect()  # fmt: skip
    with open_bar("data checks", known.height, "traces") as advance:
        traces = known.lazy()
        # each table is read once: what stands behind a lazy frame may not bear several readers at a time
        read = lazy(steps).select("episode_id", "step", "turn", "code", "error", "injected_fault")
        recorded = read.join(traces.select("episode_id"), on="episode_id", how="semi").cache()
        finishes = pl.col("code").map_elements(calls_finish, return_dtype=pl.Boolean).sum().cast(pl.Int64)
        finish_calls = _last_steps(recorded, spec.finish_window).group_by("episode_id").agg(finish_call_count=finishes)
        measured = (
            traces.join(_error_density(recorded, lazy(errors)), on="episode_id", how="left")
            .join(finish_calls, on="episode_id", how="left")
            .join(_loop_similarity(recorded, lazy(turns), spec, advance), on="episode_id", how="left")
            .with_columns(pl.col("recorded_step_count", "finish_call_count").fill_null(0))
        )
        digest = hashlib.sha256(spec.model_dump_json().encode()).hexdigest()[:16]
        columns = [name for name in TraceVerdictRow.model_fields if name != "run_id"]
        return (
            measured.with_columns(_verdict(rules(spec)))
            .with_columns(is_valid=pl.col("reason").is_null(), validation_digest=pl.lit(digest))
            .select(columns)
            .sort("contract", "instance_id", "replicate", "episode_id")
            .collect()
        )


def verdict_rows(verdicts: pl.DataFrame, run_id: str) -> list[TraceVerdictRow]:
    """Return the verdicts as rows that land."""
    return [TraceVerdictRow(run_id=run_id, **row) for row in verdicts.iter_rows(named=True)]


def _verdict(checks: tuple[Check, ...]) -> list[pl.Expr]:
    is_given_up = pl.col("finish_reason").eq_missing(FinishReason.ERROR.value)
    cases = [(pl.when(check.is_broken() & ~is_given_up), check) for check in checks]
    bounds = ((case, check.maximum if check.minimum is None else check.minimum) for case, check in cases)
    reasons = (case.then(pl.lit(check.name)) for case, check in cases)
    return [
        pl.coalesce(pl.when(is_given_up).then(pl.lit(GIVEN_UP)), *reasons).alias("reason"),
        pl.coalesce(case.then(pl.col(str(check.column)).cast(pl.Float64)) for case, check in cases).alias("measured"),
        pl.coalesce(case.then(pl.lit(bound, pl.Float64)) for case, bound in bounds).alias("threshold"),
    ]


def _error_density(steps: pl.LazyFrame, errors: pl.LazyFrame) -> pl.LazyFrame:
    injected = errors.filter(pl.col("is_injected"), ~pl.col("is_caught")).select("episode_id", "step")
    is_harmless = pl.any_horizontal(pl.col("error").str.contains(text, literal=True) for text in HARMLESS_ERRORS)
    is_bad = (pl.col("error").fill_null("") != "") & ~is_harmless & pl.col("injected_fault").is_null()
    bad = steps.filter(is_bad).join(injected, on=["episode_id", "step"], how="anti")
    counts = steps.group_by("episode_id").agg(recorded_step_count=pl.len().cast(pl.Int64))
    bad_counts = bad.group_by("episode_id").agg(bad=pl.len())
    return counts.join(bad_counts, on="episode_id", how="left").select(
        "episode_id", "recorded_step_count", error_density=pl.col("bad").fill_null(0) / pl.col("recorded_step_count")
    )


def _last_steps(steps: pl.LazyFrame, count: int) -> pl.LazyFrame:
    return steps.filter(pl.col("step").rank("ordinal", descending=True).over("episode_id") <= count)


def _loop_similarity(steps: pl.LazyFrame, turns: pl.LazyFrame, spec: ValidationSpec, advance: Advance) -> pl.LazyFrame:
    def measure(texts: pl.Series) -> float | None:
        advance(1)
        is_long = len(texts) == spec.loop_window
        if is_long:
            return smallest_similarity(texts.to_list(), spec.maximum_loop_similarity)
        return None

    return (
        _last_steps(steps, spec.loop_window)
        .select("episode_id", "step", "turn")
        .join(turns.select("episode_id", "turn", "assistant_text"), on=["episode_id", "turn"], how="inner")
        .group_by("episode_id")
        .agg(texts=pl.col("assistant_text").sort_by("step"))
        .select("episode_id", loop_similarity=pl.col("texts").map_elements(measure, return_dtype=pl.Float64))
    )


def smallest_similarity(texts: Sequence[str], threshold: float) -> float:
    """Return the smallest `difflib` ratio of the last text to others.

    The value is exact where it exceeds `threshold`. Elsewhere it is an upper bound that `threshold` is not below: one
    dissimilar text settles the check, and the multiset bound finds most of those in a hundredth of the time.
    """
    *earlier, last = texts
    smallest = 1.0
    for text in earlier:
        if text != last:  # characters in common, in any order, as `SequenceMatcher.quick_ratio` counts them
            common = sum((Counter(last) & Counter(text)).values())
            smallest = min(smallest, 2 * common / (len(last) + len(text)))
    for text in earlier:
        if smallest <= threshold:
            break
        ratio = 1.0 if last == text else SequenceMatcher(None, last, text).ratio()
        smallest = min(smallest, ratio)
    return smallest
