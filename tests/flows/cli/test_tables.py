import pytest

from carryover.flows.cli.tables import print_verdicts, read_verdicts
from carryover.storage.warehouse.reader import Warehouse
from carryover.storage.zone.landing import LandingZone
from carryover.tasks.analysis.statistic_rows import StatisticGroup
from carryover.tasks.analysis.statistics_spec import PP, PS


@pytest.fixture
def warehouse(tmp_path):
    """A warehouse with the share of episodes that miss a name, in two cells of two plans."""
    rows = []
    for plan, share in (("plan", 0.9), ("other", 0.1)):
        group = StatisticGroup("run", plan, "main", "scratch", "declared", "names", "small")
        rows += [
            group.row("mean", "cell", "has_missing_name", cell, pair_count=100, method="percentile", estimate=missed)
            for cell, missed in ((PS, share), (PP, 0.07))
        ]
    LandingZone(tmp_path).write({"statistics": rows}, "run")
    return Warehouse.open(tmp_path)


def test_claim_with_a_statistic_gets_a_verdict_by_threshold(warehouse):
    verdicts = read_verdicts(warehouse, "plan").select("hypothesis", "criteria", "estimate", "verdict").rows()
    assert verdicts == [
        ("mismatch_breaks_names", "estimate >= 0.80", 0.9, "holds"),
        ("aligned_persistent_keeps_names", "estimate <= 0.05", 0.07, "does not hold"),
    ]


def test_verdicts_are_printed_with_their_counts(warehouse, capsys):
    print_verdicts(warehouse, "plan", "markdown")
    printed = capsys.readouterr().out
    assert "mismatch_breaks_names" in printed
    assert printed.endswith("1 does not hold; 1 holds\n")


def test_a_plan_without_statistics_says_so(warehouse, capsys):
    print_verdicts(warehouse, "third", "csv")
    assert capsys.readouterr().out.endswith("no hypothesis has its statistic here\n")
