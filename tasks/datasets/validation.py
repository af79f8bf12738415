"""Data checks on traces: what each rule measures, and one verdict per trace (arXiv 2603.01209, appendix C.1.1)."""

import hashlib
from collections import Counter
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Literal, NamedTuple, get_args

import polars as pl

from carryover.tasks.datasets.spec import ValidationSpec
from carryover.tasks.running.progress import Advance, OpenBar, no_bar
from carryover.tasks.running.syntax import calls_finish
from carryover.tasks.traces.frames import Frame, lazy
from carryover.tasks.traces.rows import HARMLESS_ERRORS, FinishReason
from carryover.tasks.traces.training_rows import TraceVerdictRow

Reason = Literal[
    "file_corrupt", "result_file_missing", "score_too_low", "no_finish_tool", "zombie_loop", "high_error_density"
]
"""Why a trace is rejected, in the order of the checks; `zombie_loop` is Table 5's repetitive recovery loop."""
REASONS: tuple[Reason, ...] = get_args(Reason)
GIVEN_UP = "given_up"
"""Reason of an episode that ended with `error` for good: its endpoint or runtime failed, so it is no trace to judge."""

_STEP_COLUMNS = ("episode_id", "step", "turn", "code", "error", "injected_fault")
_ATTEMPT_OF = ("plan_digest", "variant", "runtime_contract", "instance_id", "replicate")


class Rule(NamedTuple):
    """A data check: a measured column and the bound that it must keep; a null measurement keeps every bound."""

    reason: Reason
    column: str
    minimum: float | None = None
    maximum: float | None = None

    @property
    def threshold(self) -> float | None:
        """The bound, whichever it is."""
        return self.maximum if self.minimum is None else self.minimum

    def is_broken(self) -> pl.Expr:
        """Return the expression that is true for the traces that the rule rejects."""
        column = pl.col(self.column)
        broken = column > self.maximum if self.minimum is None else column < self.minimum
        return broken.fill_null(value=False)


def rules(spec: ValidationSpec) -> tuple[Rule, ...]:
    """Return the checks in the order in which the first failing one decides."""
    return (
        Rule("file_corrupt", "recorded_step_count", minimum=1),
        Rule("result_file_missing", "result_count", minimum=1),
        Rule("score_too_low", "score", minimum=spec.minimum_score),
        Rule("no_finish_tool", "finish_call_count", minimum=1),
        Rule("zombie_loop", "loop_similarity", maximum=spec.maximum_loop_similarity),
        Rule("high_error_density", "error_density", maximum=spec.maximum_error_density),
    )


def judge_traces(
    episodes: Frame, turns: Frame, steps: Frame, errors: Frame, spec: ValidationSpec, *, open_bar: OpenBar = no_bar
) -> pl.DataFrame:
    """Measure every rule on every trace and name the first that fails.

    An attempt that a later attempt of the same episode replaced is no trace. An episode whose last attempt ended with
    `error` is none either: no rule is held against it, and its reason is `given_up`. Errors of injected faults are left
    out of the error density.

    Returns:
        One row per trace or given-up episode with the columns of `TraceVerdictRow` but for `run_id`, ordered by
        contract, instance and replicate.
    """
    is_latest = pl.col("attempt") == pl.col("attempt").max().over(_ATTEMPT_OF)
    known = lazy(episodes).filter(is_latest).select(
        "episode_id", "instance_id", "replicate", "score", "finish_reason", contract="runtime_contract",
        result_count=pl.col("score").is_not_null().cast(pl.Int64),
    ).collect()  # fmt: skip
    with open_bar("data checks", known.height, "traces") as advance:
        traces = known.lazy()
        # each table is read once: what stands behind a lazy frame may not bear several readers at a time
        recorded = (
            lazy(steps).select(_STEP_COLUMNS).join(traces.select("episode_id"), on="episode_id", how="semi").cache()
        )
        finishes = pl.col("code").map_elements(calls_finish, return_dtype=pl.Boolean).sum().cast(pl.Int64)
        finish_calls = _last_steps(recorded, spec.finish_window).group_by("episode_id").agg(finish_call_count=finishes)
        measured = (
            traces.join(_error_density(recorded, lazy(errors)), on="episode_id", how="left")
            .join(finish_calls, on="episode_id", how="left")
            .join(_loop_similarity(recorded, lazy(turns), spec, advance), on="episode_id", how="left")
            .with_columns(pl.col("recorded_step_count", "finish_call_count").fill_null(0))
        )
        columns = [name for name in TraceVerdictRow.model_fields if name != "run_id"]
        return (
            measured.with_columns(_verdict(rules(spec)))
            .with_columns(is_valid=pl.col("reason").is_null(), validation_digest=pl.lit(validation_digest(spec)))
            .select(columns)
            .sort("contract", "instance_id", "replicate", "episode_id")
            .collect()
        )


def verdict_rows(verdicts: pl.DataFrame, run_id: str) -> list[TraceVerdictRow]:
    """Return the verdicts as rows that land."""
    return [TraceVerdictRow(run_id=run_id, **row) for row in verdicts.iter_rows(named=True)]


def validation_digest(spec: ValidationSpec) -> str:
    """Return a digest of the thresholds."""
    return hashlib.sha256(spec.model_dump_json().encode()).hexdigest()[:16]


def _verdict(checks: tuple[Rule, ...]) -> list[pl.Expr]:
    nothing = pl.lit(None, pl.Float64)
    reason, measured, threshold = pl.lit(None, pl.String), nothing, nothing
    for check in reversed(checks):  # the first check is the outermost condition
        broken = pl.when(check.is_broken())
        reason = broken.then(pl.lit(check.reason)).otherwise(reason)
        measured = broken.then(pl.col(check.column).cast(pl.Float64)).otherwise(measured)
        threshold = broken.then(pl.lit(check.threshold, pl.Float64)).otherwise(threshold)
    given_up = pl.when(pl.col("finish_reason") == FinishReason.ERROR.value)
    return [
        given_up.then(pl.lit(GIVEN_UP)).otherwise(reason).alias("reason"),
        given_up.then(nothing).otherwise(measured).alias("measured"),
        given_up.then(nothing).otherwise(threshold).alias("threshold"),
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
    def measure(texts: pl.Series) -> pl.Series:
        similarities = []
        for each in texts.to_list():
            is_long = len(each) == spec.loop_window
            similarities.append(smallest_similarity(each, spec.maximum_loop_similarity) if is_long else None)
            advance(1)
        return pl.Series(similarities, dtype=pl.Float64)

    return (
        _last_steps(steps, spec.loop_window)
        .select("episode_id", "step", "turn")
        .join(turns.select("episode_id", "turn", "assistant_text"), on=["episode_id", "turn"], how="inner")
        .group_by("episode_id")
        .agg(texts=pl.col("assistant_text").sort_by("step"))
        .select("episode_id", loop_similarity=pl.col("texts").map_batches(measure, return_dtype=pl.Float64))
    )


def smallest_similarity(texts: Sequence[str], threshold: float) -> float:
    """Return the smallest `difflib` ratio between the last text and each text before it, in [0, 1].

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
