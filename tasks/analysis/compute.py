"""Every statistic of a plan, from the rows of `marts.episode_metrics` to rows of `statistics`."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from carryover.tasks.analysis.alignment import Arms, means
from carryover.tasks.analysis.decisions import equivalence_rows, holm_family, smallest_detectable_difference
from carryover.tasks.analysis.intervals import (
    MeanStatistic,
    all_intervals,
    contrast,
    difference,
    itself,
    ratio,
    ratio_of_ratios,
)
from carryover.tasks.analysis.paired_tests import mcnemar_row, rank_test
from carryover.tasks.analysis.replicates import replicate_rows
from carryover.tasks.analysis.spec import (
    BINARY_METRICS,
    COMPARISONS,
    COST_COMPARISONS,
    DIFFERENCE_METRICS,
    INJECTION_COMPARISONS,
    INTERACTION_METRICS,
    INTERACTION_RATIO_METRICS,
    MEAN_METRICS,
    PP,
    PS,
    RANK_TEST_METRICS,
    RATIO_METRICS,
    SP,
    SS,
    ComparedArm,
    Comparison,
    PlannedGroup,
    StatisticsSpec,
)
from carryover.tasks.analysis.statistic_rows import GROUP_COLUMNS, StatisticGroup, averaged_over_seeds
from carryover.tasks.running.progress import OpenBar, no_bar
from carryover.tasks.traces.result_rows import StatisticRow


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
    analyses: list[Iterator[StatisticRow]] = []
    for key, frame in sorted(chosen.group_by(*GROUP_COLUMNS), key=lambda pair: str(pair[0])):
        group = StatisticGroup(run_id, plan_digest, *(str(value) for value in key))
        arms = Arms(frame, (planned or {}).get(group[2:], PlannedGroup()))
        analyses += group_analyses(group, arms, spec or StatisticsSpec())
    rows: list[StatisticRow] = []
    with open_bar("statistics", len(analyses), "analyses") as advance:
        for analysis in analyses:
            rows += analysis
            advance(1)
    return rows


def kept_statistics(
    episodes: pl.DataFrame, plan_digest: str, settings: dict[str, Any], open_bar: OpenBar = no_bar
) -> list[StatisticRow]:
    """Return the statistics of kept episodes of one plan digest, by a plan's settings for its statistics."""
    spec = StatisticsSpec.model_validate(settings)
    return compute_statistics(episodes, plan_digest=plan_digest, run_id=plan_digest, spec=spec, open_bar=open_bar)


def group_analyses(group: StatisticGroup, arms: Arms, spec: StatisticsSpec) -> Iterator[Iterator[StatisticRow]]:
    """Yield the analyses of one group: means, paired comparisons, interactions; each is computed as it is read."""
    for arm in arms.present:
        for metric in MEAN_METRICS:
            yield _mean_rows(group, arms, arm, metric, spec)
    for comparison in COMPARISONS:
        if arms.has(comparison.a, comparison.b):
            yield _comparison_rows(group, arms, comparison, spec)
    family = [comparison for comparison in COMPARISONS if {comparison.a, comparison.b} <= arms.planned]
    yield equivalence_rows(group, arms, family, spec)
    for metric in RANK_TEST_METRICS:
        yield holm_family(map(partial(_rank_test_row, group, arms, metric), family))
    for metric in BINARY_METRICS:
        yield holm_family(map(partial(mcnemar_row, group, arms, metric), family))
    for comparison in (*COST_COMPARISONS, *INJECTION_COMPARISONS):
        if arms.has(comparison.a, comparison.b):
            yield _interval_rows(group, arms, comparison, spec)
    if arms.has(PP, PS, SP, SS):
        yield _interaction_rows(group, arms, spec)
        yield holm_family(map(partial(_interaction_test, group, arms), INTERACTION_METRICS))
    yield replicate_rows(group, arms, spec)


def _mean_rows(
    group: StatisticGroup, arms: Arms, arm: ComparedArm, metric: str, spec: StatisticsSpec
) -> Iterator[StatisticRow]:
    aligned = arms.align(metric, arm)
    cell = f"{arm.train or 'base'}->{arm.runtime}"
    for interval in all_intervals(aligned, itself, spec):
        values = {"mean_a": interval.estimate, "confidence": spec.confidence, **interval._asdict()}
        yield group.row("mean", cell, metric, arm, **values)


def _comparison_rows(
    group: StatisticGroup, arms: Arms, comparison: Comparison, spec: StatisticsSpec
) -> Iterator[StatisticRow]:
    """Yield the intervals of a comparison, and the smallest difference of scores that its sample could show."""
    yield from _interval_rows(group, arms, comparison, spec)
    scores = arms.align("score", comparison.a, comparison.b)
    if not scores.instance_count:
        return
    differences = np.subtract(*scores.per_instance())
    smallest = smallest_detectable_difference(differences, alpha=spec.alpha, power=spec.power)
    method = f"smallest detectable mean difference, normal approximation, alpha {spec.alpha:g}, power {spec.power:g}"
    few = f"{differences.size} pairs, 2 are needed"
    equal = f"no spread: all {differences.size} differences are {differences[0]:g}"
    values = {
        "pair_count": differences.size,
        "estimate": smallest,
        "method": averaged_over_seeds(method, scores.seed_count),
        "note": None if smallest is not None else few if differences.size < 2 else equal,
    }
    yield group.comparison_row("power", comparison, "score", **values)


def _interval_rows(
    group: StatisticGroup, arms: Arms, comparison: Comparison, spec: StatisticsSpec
) -> Iterator[StatisticRow]:
    wanted: list[tuple[str, str, MeanStatistic]] = [("difference", metric, difference) for metric in DIFFERENCE_METRICS]
    wanted += [("ratio", metric, ratio) for metric in RATIO_METRICS]
    for analysis, metric, statistic in wanted:
        aligned = arms.align(metric, comparison.a, comparison.b)
        for interval in all_intervals(aligned, statistic, spec):
            values = {**means(aligned), "confidence": spec.confidence, **interval._asdict()}
            yield group.comparison_row(analysis, comparison, metric, **values)


def _interaction_rows(group: StatisticGroup, arms: Arms, spec: StatisticsSpec) -> Iterator[StatisticRow]:
    """Yield (P->P - P->S) - (S->P - S->S), and its ratio form (P->P / P->S) / (S->P / S->S), paired by instance."""
    wanted: list[tuple[str, str, MeanStatistic]] = [("interaction", metric, contrast) for metric in INTERACTION_METRICS]
    wanted += [("interaction_ratio", metric, ratio_of_ratios) for metric in INTERACTION_RATIO_METRICS]
    for analysis, metric, statistic in wanted:
        aligned = arms.align(metric, PP, PS, SP, SS)
        for interval in all_intervals(aligned, statistic, spec):
            side = interval.side(0.0 if analysis == "interaction" else 1.0)
            values = {"verdict": side, "confidence": spec.confidence, **interval._asdict()}
            yield group.row(analysis, "train_x_runtime", metric, **values)


def _rank_test_row(group: StatisticGroup, arms: Arms, metric: str, comparison: Comparison) -> StatisticRow:
    pair = arms.align(metric, comparison.a, comparison.b)
    return group.comparison_row("wilcoxon", comparison, metric, **means(pair), **rank_test(pair, difference))


def _interaction_test(group: StatisticGroup, arms: Arms, metric: str) -> StatisticRow:
    test = rank_test(arms.align(metric, PP, PS, SP, SS), contrast)
    return group.row("interaction_wilcoxon", "train_x_runtime", metric, **test)
