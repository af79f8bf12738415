import pytest

from carryover.flows.cli.results.tables import print_verdicts, read_verdicts
from carryover.storage.warehouse.reader import Warehouse
from carryover.storage.zone.landing import LandingZone
from carryover.tasks.analysis.statistic_rows import StatisticGroup
from carryover.tasks.analysis.statistics_spec import PP, PS
from tests.sql.hand_made_warehouse import HandMade, migrated_memory


@pytest.fixture
def warehouse(tmp_path):
    """The share of episodes that miss a name, in two cells of two plans, on 20 instances that were learnt."""
    study = HandMade(migrated_memory())
    for plan, share in (("plan", 0.9), ("other", 0.1)):
        study.run(f"run of {plan}", plan_digest=plan)
        for number in range(20):
            for cell in ("P->P", "P->S"):
                study.episode(cell, f"i{number}", 0.9, base="scratch", plan_digest=plan)
        group = StatisticGroup("run", plan, "main", "scratch", "declared", "names", "small")
        for cell, missed in ((PS, share), (PP, 0.07)):
            values = {"pair_count": 100, "method": "percentile", "estimate": missed}
            study.add(group.row("mean", "cell", "has_missing_name", cell, **values))
    return Warehouse(study.connection, LandingZone(tmp_path))


def test_claim_with_a_statistic_gets_a_verdict_by_threshold(warehouse):
    verdicts = read_verdicts(warehouse, "plan")
    assert [(one.hypothesis, one.criteria, one.estimate, one.verdict) for one in verdicts] == [
        ("mismatch_breaks_names", "estimate >= 0.80", 0.9, "holds"),
        ("aligned_persistent_keeps_names", "estimate <= 0.05", 0.07, "does not hold"),
    ]


def test_verdicts_are_printed_with_their_counts(warehouse, capsys):
    print_verdicts(warehouse, "plan", "markdown")
    printed = capsys.readouterr().out
    assert "mismatch_breaks_names" in printed
    assert (
        "2 distinct claims in 2 verdicts: 1 hold, 1 does not (aligned_persistent_keeps_names), 0 without a verdict\n"
        in printed
    )
    assert printed.endswith("of those that hold: 1 without scripts beside them\n")


def test_a_plan_without_statistics_says_so(warehouse, capsys):
    print_verdicts(warehouse, "third", "csv")
    assert capsys.readouterr().out.endswith("no hypothesis has its statistic here\n")
