"""Every statistic of a plan, from the rows of `marts.episode_metrics` to rows of `statistics`."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
import polars as pl

from carryover.tasks.analysis.alignment import Arms, means
from carryover.tasks.analysis.decisions import equivalence_rows, holm_family, smallest_detectable_difference
from carryover.tasks.analysis.intervals import all_intervals, contrast, difference, itself, ratio, ratio_of_ratios
from carryover.tasks.analysis.paired_tests import mcnemar_row, rank_test
from carryover.tasks.analysis.replicates import replicate_rows
from carryover.tasks.analysis.statistic_rows import GROUP_COLUMNS, StatisticGroup, averaged_over_seeds
from carryover.tasks.analysis.statistics_spec import (
    CELLS,
    COMPARISONS,
    COST_COMPARISONS,
    INJECTION_COMPARISONS,
    METRICS,
    ComparedArm,
    Comparison,
    PlannedGroup,
    StatisticsSpec,
)
from carryover.tasks.services.progress import OpenBar, no_bar
from carryover.tasks.traces.result_rows import StatisticRow

_STATISTICS = {
    "mean": itself,
    "difference": difference,
    "ratio": ratio,
    "interaction": contrast,
    "interaction_ratio": ratio_of_ratios,
}
"""Statistic of each analysis that gives intervals."""


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
    intervals = partial(_interval_rows, group, arms, spec)
    paired = [(analysis, metric) for analysis in ("difference", "ratio") for metric in METRICS[analysis]]
    for arm in arms.present:
        for metric in METRICS["mean"]:
            yield intervals(f"{arm.train or 'base'}->{arm.runtime}", [arm], analyses=[("mean", metric)])
    for one in COMPARISONS:
        if arms.has(one.a, one.b):
            yield chain(intervals(one.group, [one.a, one.b], analyses=paired), _power_rows(group, arms, one, spec))
    family = [comparison for comparison in COMPARISONS if {comparison.a, comparison.b} <= arms.planned]
    yield equivalence_rows(group, arms, family, spec)
    for metric in METRICS["wilcoxon"]:
        yield holm_family(map(partial(_rank_test_row, group, arms, metric), family))
    for metric in METRICS["mcnemar"]:
        yield holm_family(map(partial(mcnemar_row, group, arms, metric), family))
    for one in (*COST_COMPARISONS, *INJECTION_COMPARISONS):
        if arms.has(one.a, one.b):
            yield intervals(one.group, [one.a, one.b], analyses=paired)
    if arms.has(*CELLS):
        analyses = [(name, metric) for name in ("interaction", "interaction_ratio") for metric in METRICS[name]]
        yield intervals("train_x_runtime", CELLS, analyses=analyses)
        yield holm_family(map(partial(_interaction_test, group, arms), METRICS["interaction"]))
    yield replicate_rows(group, arms, spec)


def _interval_rows(
    group: StatisticGroup,
    arms: Arms,
    spec: StatisticsSpec,
    name: str,
    compared: Sequence[ComparedArm],
    *,
    analyses: Iterable[tuple[str, str]],
) -> Iterator[StatisticRow]:
    """Yield the intervals of each analysis and metric: of one arm's mean, of two arms, or of the 2x2's interaction."""
    named = compared if len(compared) < 3 else ()
    for analysis, metric in analyses:
        aligned = arms.align(metric, *compared)
        for interval in all_intervals(aligned, _STATISTICS[analysis], spec):
            values = {"confidence": spec.confidence, **interval._asdict()}
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
    """Yield the smallest difference of scores that a comparison's sample could show, if it has pairs."""
    scores = arms.align("score", comparison.a, comparison.b)
    if not scores.instance_count:
        return
    differences = np.subtract(*scores.per_instance())
    smallest = smallest_detectable_difference(differences, alpha=spec.alpha, power=spec.power)
    method = f"smallest detectable mean difference, normal approximation, alpha {spec.alpha:g}, power {spec.power:g}"
    few = f"{differences.size} pairs, 2 are needed"
    equal = f"no spread: all {differences.size} differences are {differences[0]:g}"
    yield group.comparison_row(
        "power",
        comparison,
        "score",
        pair_count=differences.size,
        estimate=smallest,
        method=averaged_over_seeds(method, scores.seed_count),
        note=None if smallest is not None else few if differences.size < 2 else equal,
    )


def _rank_test_row(group: StatisticGroup, arms: Arms, metric: str, comparison: Comparison) -> StatisticRow:
    pair = arms.align(metric, comparison.a, comparison.b)
    return group.comparison_row("wilcoxon", comparison, metric, **means(pair), **rank_test(pair, difference))


def _interaction_test(group: StatisticGroup, arms: Arms, metric: str) -> StatisticRow:
    return group.row(
        "interaction_wilcoxon", "train_x_runtime", metric, **rank_test(arms.align(metric, *CELLS), contrast)
    )
