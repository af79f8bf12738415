"""The A/A control: a model's replicates tested against each other."""

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
from scipy import stats

from carryover.tasks.analysis.alignment import Arms, align, means
from carryover.tasks.analysis.decisions import holm_family
from carryover.tasks.analysis.paired_tests import signed_rank
from carryover.tasks.analysis.statistic_rows import StatisticGroup, averaged_over_seeds
from carryover.tasks.analysis.statistics_spec import METRICS, StatisticsSpec
from carryover.tasks.traces.result_rows import StatisticRow


def replicate_rows(group: StatisticGroup, arms: Arms, spec: StatisticsSpec) -> Iterator[StatisticRow]:
    """Yield signed-rank tests between replicates, and the share that rejects.

    Nothing comes of a group without replicates. Holm's correction is over all tests of the group; the share is of the
    raw p-values, about `alpha` where the null hypothesis holds by construction. Its interval is the exact binomial one,
    as if the tests were independent, which those of one pair are not. A test without two differences is none.
    """
    tests: list[StatisticRow] = []
    trained = sorted(arm for arm in arms.planned if arm.train is not None)
    pairs = zip(arms.replicates[::2], arms.replicates[1::2], strict=False)  # no replicate is in two
    for arm, (first, second), metric in product(trained, pairs, METRICS["replicates"]):
        table = arms.table(metric, arm)
        both = align([table.of_replicate(first), table.of_replicate(second)])
        test = signed_rank(np.subtract(*both.per_instance()))
        columns = means(both) | test._asdict() | {"method": averaged_over_seeds(test.method, both.seed_count)}
        tests.append(group.row("replicates", f"replicates {first} and {second}", metric, arm, arm, **columns))
    # One family over arms, pairs of replicates and metrics: it asks whether decoding seeds alone change anything.
    yield from holm_family(tests)
    p_values = [row.p_value for row in tests if row.p_value is not None]
    if p_values:
        rejections = sum(p_value < spec.alpha for p_value in p_values)
        interval: Any = stats.binomtest(rejections, len(p_values)).proportion_ci(spec.confidence, method="exact")
        yield group.row(
            "replicate_rejections",
            "a_a",
            f"p below {spec.alpha:g}",
            pair_count=len(p_values),
            nonzero_count=rejections,
            estimate=rejections / len(p_values),
            low=float(interval.low),
            high=float(interval.high),
            confidence=spec.confidence,
            interval_kind="exact binomial",
            method="share of tests, exact binomial interval",
        )
