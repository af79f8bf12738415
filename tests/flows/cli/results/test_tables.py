import re
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from carryover.flows.cli.results import tables
from carryover.flows.cli.results.tables import print_verdicts, read_verdicts
from carryover.storage.warehouse.reader import Warehouse
from carryover.storage.zone.landing import LandingZone
from carryover.tasks.analysis.queries import table_query
from carryover.tasks.analysis.statistic_rows import StatisticGroup
from carryover.tasks.analysis.statistics_spec import PP, PS
from carryover.tasks.plans.hypotheses import Group, Verdict
from carryover.tasks.services.errors import UserError
from tests.empty_warehouse import open_empty_memory
from tests.sql.hand_made_warehouse import HandMade

NOWHERE: Any = "a warehouse that is not read"


@pytest.fixture
def warehouse(tmp_path):
    """The share of episodes that miss a name, in two cells of two plans, on 20 instances that were learnt."""
    study = HandMade(open_empty_memory())
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


def printed_tables(table_format, capsys):
    shown = {table_query(name): pl.DataFrame({"metric": [name], "value": [1]}) for name in ("table_1", "table_2")}
    tables._print_all(shown, table_format)
    return capsys.readouterr().out


def test_tables_stand_apart_under_their_titles(capsys):
    first, second = (table_query(name).title for name in ("table_1", "table_2"))
    assert printed_tables("markdown", capsys) == (
        f"### {first}\n\n| metric | value |\n| --- | ---: |\n| table 1 | 1 |\n\n"
        f"### {second}\n\n| metric | value |\n| --- | ---: |\n| table 2 | 1 |\n"
    )
    assert printed_tables("csv", capsys) == "metric,value\ntable_1,1\nmetric,value\ntable_2,1\n"
    screen = printed_tables("rich", capsys)
    assert screen.index(f"table_1: {first[:20]}") < screen.index(f"table_2: {second[:20]}")
    assert not screen.startswith("\n")


@pytest.mark.parametrize("table_format", ["rich", "csv"])
def test_a_screen_names_tables_without_rows(monkeypatch, capsys, table_format):
    rows = {"table_1": 1, "table_2": 0, "table_3": 0, "claims": 1}
    monkeypatch.setattr(tables, "plan_tables", lambda warehouse, plan: list(rows))
    monkeypatch.setattr(
        tables, "read_table", lambda warehouse, query, plan: pl.DataFrame({"kept": [plan] * rows[query.name]})
    )
    tables.print_plan(NOWHERE, "2f3a", table_format)
    said = capsys.readouterr().out
    if table_format == "csv":
        assert said == "kept\n2f3a\nkept\nkept\nkept\n2f3a\n"
    else:
        assert said.count("2f3a") == 1
        assert said.endswith("\nno rows for this plan: table_2, table_3\n")
        assert [name for name in rows if f"{name}: " in said] == ["table_1"]


def test_a_table_of_another_family_is_refused(monkeypatch):
    monkeypatch.setattr(tables, "plan_tables", lambda warehouse, plan: ["claims"])
    with pytest.raises(
        UserError, match=r"^table_1 is about the Opaque Knapsack, which plan 2f3a does not play; imported"
    ):
        tables.print_tables(NOWHERE, "2f3a", ["claims", "table_1"], "csv")


def test_questions_are_printed_with_query_and_answer(monkeypatch, capsys):
    frame = pl.DataFrame({"count": [7]})
    warehouse: Any = SimpleNamespace(
        sql=lambda query, **named: SimpleNamespace(polars=lambda: frame, rows=lambda: [("easy",)])
    )
    tables.print_questions(warehouse, "2f3a", 3)
    said = capsys.readouterr().out
    assert said.startswith("3. ")
    assert "2f3a" in said
    assert said.endswith("| 7 |\n\n")
    tables.print_questions(warehouse, "2f3a", None)
    numbers = [line.partition(".")[0] for line in capsys.readouterr().out.splitlines() if re.match(r"\d+\. ", line)]
    assert numbers == [str(number) for number in range(1, 11)]
    with pytest.raises(UserError, match=r"^no question 11; choose from 1 to 10$"):
        tables.print_questions(warehouse, "2f3a", 11)


def test_the_latest_comparison_is_chosen_unless_one_is_named():
    found: Any = SimpleNamespace(sql=lambda query: SimpleNamespace(rows=lambda: [("latest",)]))
    none: Any = SimpleNamespace(sql=lambda query: SimpleNamespace(rows=list))
    assert [tables.choose_comparison(each, None) for each in (found, none)] == ["latest", ""]
    assert tables.choose_comparison(none, "named") == "named"


def test_a_plan_without_episodes_has_no_training_bucket():
    asked = []

    def sql(query, plan_digest):
        asked.append((query, plan_digest))
        return SimpleNamespace(rows=lambda: [("easy",), ("hard",)][: 2 if plan_digest == "played" else 0])

    warehouse: Any = SimpleNamespace(sql=sql)
    assert [tables.training_bucket(warehouse, plan) for plan in ("played", "planned")] == ["easy", ""]
    assert asked == [(tables.command_sql("training_bucket"), plan) for plan in ("played", "planned")]


def test_the_evidence_of_a_plan_is_by_group_and_pair():
    group = ("main", "scratch", "declared", "names", "small")
    rows = {
        tables.command_sql("judged_settings"): [(*group, "not learnt", 7)],
        tables.command_sql("ended_pairs"): [(*group, "P->P", "P->S", 5), (*group, "P->P", "S->S", 6)],
        "select ended_pair_minimum from staging.verdict_minimums": [(18,)],
        "select metric from staging.endless_metrics": [("state_utilization",)],
    }
    warehouse: Any = SimpleNamespace(sql=lambda query, **_: SimpleNamespace(rows=lambda: rows[query]))
    of = Group(*group)
    assert tables._read_evidence(warehouse, "2f3a") == (
        {of: "not learnt"},
        {of: 7},
        {(of, frozenset({"P->P", "P->S"})): 5, (of, frozenset({"P->P", "S->S"})): 6},
        18,
        frozenset({"state_utilization"}),
    )


def test_verdicts_are_printed_group_by_group(monkeypatch, capsys):
    names = [name for name in Verdict._fields if name not in ("estimate", "low", "high")]
    plain: dict[str, Any] = dict.fromkeys(names, "x") | {"estimate": 0.5, "low": None, "high": None}
    order = [("b", "1"), ("a", "2"), ("a", "1"), ("b", "0")]
    verdicts = [Verdict(**{**plain, "variant": variant, "bucket": bucket}) for variant, bucket in order]
    monkeypatch.setattr(tables, "read_verdicts", lambda warehouse, plan: verdicts)
    print_verdicts(NOWHERE, "2f3a", "csv")
    head, *lines = capsys.readouterr().out.splitlines()
    places = [head.split(",").index(name) for name in ("variant", "bucket")]
    printed = [tuple(line.split(",")[place] for place in places) for line in lines[: len(order)]]
    assert printed == sorted(order)
