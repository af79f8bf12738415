"""The figures on the page of the small models are those of the kept turns."""

from importlib.resources import files
from pathlib import Path

import polars as pl

from carryover.tasks.cave.arms.statistics import arm_statistics

RESULTS = Path(str(files("carryover.sql") / "results"))
PAGE = " ".join((RESULTS / "cave_small_models.md").read_text(encoding="utf-8").split())
TURNS = pl.read_csv(RESULTS / "cave_small_models.csv", schema_overrides={"tier": pl.String})
STATISTICS = arm_statistics(TURNS, "run")


def statistic(metric: str, arm: str, other: str | None = None):
    analysis = "arm_mean" if other is None else "paired"
    wanted = (analysis, metric, arm, other)
    (row,) = (row for row in STATISTICS if (row.analysis, row.metric, row.runtime_a, row.runtime_b) == wanted)
    return row


def test_every_turn_was_played_three_times():
    assert TURNS.group_by("arm").len().sort("arm").rows() == [("persistent_code", 225), ("stateless_code", 225)]


def test_shares_of_passed_turns_and_their_intervals():
    for arm in ("persistent_code", "stateless_code"):
        row = statistic("passed_pct", arm)
        tiers = TURNS.filter(arm=arm).group_by("tier").agg(pl.col("is_passed").mean()).sort("tier")["is_passed"]
        shares = " | ".join(f"{100 * share:.1f} %" for share in tiers)
        assert f"| `{arm}` | {row.estimate:.1f} % [{row.low:.1f}, {row.high:.1f}] | {shares} |" in PAGE


def test_the_difference_and_its_test():
    row = statistic("passed_pct", "persistent_code", "stateless_code")
    interval = f"{row.estimate:.1f} points [{row.low:.1f}, {row.high:.1f}]"
    assert f"The difference is {interval}, p = {row.p_value:.3f}" in PAGE


def test_tokens_of_a_turn():
    tokens = [statistic("total_tokens", arm).estimate for arm in ("persistent_code", "stateless_code")]
    assert "{:,.0f} against {:,.0f} a turn".format(*tokens) in PAGE


def test_the_arms_readme_rounds_the_same_shares():
    page = Path(str(files("carryover.tasks.cave.arms") / "README.md")).read_text(encoding="utf-8")
    text = " ".join(page.split())
    shares = [statistic("passed_pct", arm).estimate for arm in ("persistent_code", "stateless_code")]
    few = TURNS.filter(tier="05").group_by("arm").agg(pl.col("is_passed").mean()).sort("arm")["is_passed"]
    assert "passed {:.0f} % of held-out turns with a state that persists and {:.0f} % without".format(*shares) in text
    assert "with five variables {:.0f} % and {:.0f} %".format(*(100 * few)) in text
