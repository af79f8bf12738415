"""Settings, comparisons and metrics of the statistics, whole."""

import pytest

from carryover.tasks.analysis.statistics_spec import (
    BASE_COMPARISONS,
    CELLS,
    COMPARISONS,
    COST_COMPARISONS,
    INJECTION_COMPARISONS,
    LIFETIME_COMPARISONS,
    LIFETIMES,
    METRICS,
    StatisticsSpec,
)
from tests.presets import as_kept, kept_presets

DECLARED = {
    "spec": StatisticsSpec(),
    "cells": CELLS,
    "comparisons": (*COMPARISONS, *COST_COMPARISONS, *BASE_COMPARISONS),
    "injection": INJECTION_COMPARISONS,
    "lifetimes": (LIFETIMES, LIFETIME_COMPARISONS),
    "metrics": METRICS,
}


@pytest.mark.parametrize("name", DECLARED)
def test_comparisons_and_metrics_are_the_kept_ones(name):
    assert as_kept({name: DECLARED[name]})[name] == kept_presets(__file__)[name]
