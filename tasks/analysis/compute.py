"""Every statistic of a plan: from `marts.episode_metrics` to `statistics`."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from carryover.tasks.analysis.alignment import Arms, means, script_of
from carryover.tasks.analysis.decisions import equivalence_rows, holm_family, smallest_detectable_difference
from carryover.tasks.analysis.intervals import all_intervals, contrast, difference, itself, ratio, ratio_of_ratios
from carryover.tasks.analysis.paired_tests import mcnemar_row, rank_test
from carryover.tasks.analysis.replicates import replicate_rows
from carryover.tasks.analysis.resampling import GroupMeans
from carryover.tasks.analysis.statistic_rows import GROUP_COLUMNS, StatisticGroup, averaged_over_seeds
from carryover.tasks.analysis.statistics_spec import (
    BASE_COMPARISONS,
    CELLS,
    COMPARISONS,
    COST_COMPARISONS,
    INJECTION_COMPARISONS,
    LIFETIME_COMPARISONS,
    METRICS,
    ComparedArm,
    Comparison,
    PlannedGroup,
    StatisticsSpec,
    away_from_home_comparisons,
)
from carryover.tasks.services.progress import OpenBar, no_bar
from carryover.tasks.traces.result_rows import StatisticRow

_STATISTICS = {
    "mean": itself,
    "difference": difference,
    "ratio": ratio,
    "interaction": contrast,
    "interaction_ratio": ratio_of_ratios,
    "trained_minus_script": difference,
}
"""Statistic of each analysis that gives intervals."""


def _named(*analyses: str) -> list[tuple[str, str]]:
    named = []
    for analysis in analyses:
        named += [(analysis, metric) for metric in METRICS[analysis]]
    return named


_PAIRED = _named("difference", "ratio")
_INTERACTIONS = _named("interaction", "interaction_ratio")
_BESIDE_SCRIPT = _named("trained_minus_script")
SCRIPT_COMPARISON = "trained_vs_script"
"""Comparison group of a trained cell and the scripted teacher of its contract, on the same runtime and instances."""
SCRIPT_BASE = "teacher"
"""Base of the scripted teachers' episodes beside the models."""


def compute_statistics(
    episodes: pl.DataFrame,
    *,
    plan_digest: str,
    run_id: str,
    spec: StatisticsSpec | None = None,
    planned: Mapping[tuple[str, ...], PlannedGroup] | None = None,
    open_bar: OpenBar = no_bar,
) -> list[StatisticRow]:
    """Return the statistics of a plan's evaluation episodes, group by group.

    `episodes` has the columns of `marts.episode_metrics`; other plans' rows, teachers' rows and episodes that
    failed are left out. A group is one bucket under one variant, base, visibility and header: comparisons never
    leave it. Intervals of arms that a group lacks are skipped. Families of tests are those of `planned`, what the plan
    plays by the columns of a group; without it (an import, kept results) they follow the arms with episodes. `open_bar`
    shows the analyses.
    """
    chosen = episodes.filter(
        (pl.col("plan_digest") == plan_digest) & (pl.col("purpose") == "evaluation") & pl.col("is_counted")
    )
    frames = {tuple(map(str, key)): frame for key, frame in chosen.group_by(*GROUP_COLUMNS)}
    analyses: list[Iterator[StatisticRow]] = []
    for key, frame in sorted(frames.items(), key=lambda pair: str(pair[0])):
        group = StatisticGroup(run_id, plan_digest, *key)
        arms = Arms(frame, (planned or {}).get(key, PlannedGroup()), scripts_beside(group, frames))
        analyses += group_analyses(group, arms, spec or StatisticsSpec())
    rows: list[StatisticRow] = []
    with open_bar("statistics", len(analyses), "analyses") as advance:
        for analysis in analyses:
            rows += analysis
            advance(1)
    return rows


def scripts_beside(group: StatisticGroup, frames: Mapping[tuple[str, ...], pl.DataFrame]) -> pl.DataFrame | None:
    """Return the scripts' episodes beside a group of models, or None."""
    if group.base == SCRIPT_BASE:
        return None
    return frames.get((group.variant, SCRIPT_BASE, group.visibility, group.header, group.bucket))


def kept_statistics(
    episodes: pl.DataFrame, plan_digest: str, settings: dict[str, Any], open_bar: OpenBar = no_bar
) -> list[StatisticRow]:
    """Return the statistics of kept episodes of one plan digest.

    A plan gives the settings.
    """
    spec = StatisticsSpec.model_validate(settings)
    return compute_statistics(episodes, plan_digest=plan_digest, run_id=plan_digest, spec=spec, open_bar=open_bar)


def group_analyses(group: StatisticGroup, arms: Arms, spec: StatisticsSpec) -> Iterator[Iterator[StatisticRow]]:
    """Yield the analyses of one group, each computed when read."""
    sample = GroupMeans(arms, spec)
    yield from _mean_analyses(group, sample)
    yield from _paired_analyses(group, sample)
    yield from _test_families(group, sample)
    if arms.has(*CELLS):
        yield _interval_rows(group, sample, "train_x_runtime", CELLS, _INTERACTIONS)
        yield holm_family(map(partial(_interaction_test, group, arms), METRICS["interaction"]))
    yield replicate_rows(group, arms, spec)


def _mean_analyses(group: StatisticGroup, sample: GroupMeans) -> Iterator[Iterator[StatisticRow]]:
    for arm in sample.arms.present:
        name = f"{arm.train or 'base'}->{arm.runtime}"
        for metric in METRICS["mean"]:
            yield _interval_rows(group, sample, name, [arm], [("mean", metric)])


def _paired_analyses(group: StatisticGroup, sample: GroupMeans) -> Iterator[Iterator[StatisticRow]]:
    """Yield differences and ratios of arms, and of arms to scripts."""
    arms = sample.arms
    fixed = (*COMPARISONS, *COST_COMPARISONS, *INJECTION_COMPARISONS, *LIFETIME_COMPARISONS, *BASE_COMPARISONS)
    for one in (*fixed, *away_from_home_comparisons(arms.present)):
        if arms.has(one.a, one.b):
            yield _interval_rows(group, sample, one.group, [one.a, one.b], _PAIRED)
    for one in COMPARISONS:
        if arms.has(one.a, one.b):
            yield _power_rows(group, arms, one, sample.spec)
    for arm in arms.present:
        script = script_of(arm)
        if arms.has(script):
            yield _interval_rows(group, sample, SCRIPT_COMPARISON, [arm, script], _BESIDE_SCRIPT)


def _test_families(group: StatisticGroup, sample: GroupMeans) -> Iterator[Iterator[StatisticRow]]:
    """Yield each family of tests over the planned comparisons, corrected by Holm."""
    arms = sample.arms
    # Planned, not played: a cell that is missing or has no spread must not make the other tests easier to pass.
    family = [comparison for comparison in COMPARISONS if {comparison.a, comparison.b} <= arms.planned]
    yield equivalence_rows(group, arms, family, sample.spec)
    for metric in METRICS["wilcoxon"]:
        yield holm_family(map(partial(_rank_test_row, group, arms, metric), family))
    for metric in METRICS["mcnemar"]:
        yield holm_family(map(partial(mcnemar_row, group, arms, metric), family))


def _interval_rows(
    group: StatisticGroup,
    sample: GroupMeans,
    name: str,
    compared: Sequence[ComparedArm],
    analyses: Iterable[tuple[str, str]],
) -> Iterator[StatisticRow]:
    """Yield intervals of means, of two arms, and of the interaction."""
    named = ()
    if len(compared) < len(CELLS):
        named = compared
    for analysis, metric in analyses:
        aligned = sample.arms.align(metric, *compared)
        resampled = partial(sample.of, metric, compared, aligned)
        for interval in all_intervals(aligned, _STATISTICS[analysis], sample.spec, resampled):
            values = {"confidence": sample.spec.confidence, **interval._asdict()}
            match len(compared):
                case 1:
                    values["mean_a"] = interval.estimate
                case 2:
                    values |= means(aligned)
                case _:
                    values["verdict"] = interval.side(0.0 if analysis == "interaction" else 1.0)
            yield group.row(analysis, name, metric, *named, **values)


def _power_rows(
    group: StatisticGroup, arms: Arms, comparison: Comparison, spec: StatisticsSpec
) -> Iterator[StatisticRow]:
    """Yield the smallest detectable difference of scores, given pairs."""
    scores = arms.align("score", comparison.a, comparison.b)
    if not scores.instance_count:
        return
    differences = np.subtract(*scores.per_instance())
    smallest = smallest_detectable_difference(differences, alpha=spec.alpha, power=spec.power)
    method = f"smallest detectable mean difference, normal approximation, alpha {spec.alpha:g}, power {spec.power:g}"
    note = None
    if smallest is None and differences.size < 2:
        note = f"{differences.size} pairs, 2 are needed"
    elif smallest is None:
        note = f"no spread: all {differences.size} differences are {differences[0]:g}"
    yield group.comparison_row(
        "power",
        comparison,
        "score",
        pair_count=differences.size,
        estimate=smallest,
        method=averaged_over_seeds(method, scores.seed_count),
        note=note,
    )


def _rank_test_row(group: StatisticGroup, arms: Arms, metric: str, comparison: Comparison) -> StatisticRow:
    pair = arms.align(metric, comparison.a, comparison.b)
    return group.comparison_row("wilcoxon", comparison, metric, **means(pair), **rank_test(pair, difference))


def _interaction_test(group: StatisticGroup, arms: Arms, metric: str) -> StatisticRow:
    return group.row(
        "interaction_wilcoxon", "train_x_runtime", metric, **rank_test(arms.align(metric, *CELLS), contrast)
    )
