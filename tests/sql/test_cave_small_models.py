"""The figures on the page of the small models are those of the kept turns."""

from importlib.resources import files
from pathlib import Path

import polars as pl

from carryover.tasks.cave.arms.statistics import arm_statistics

RESULTS = Path(str(files("carryover.sql") / "results"))
PAGE = " ".join((RESULTS / "cave_small_models.md").read_text(encoding="utf-8").split())
TURNS = pl.read_csv(RESULTS / "cave_small_models.csv", schema_overrides={"tier": pl.String})
STATISTICS = arm_statistics(TURNS, "run")


def statistic(metric: str, arm: str):
    wanted = ("arm_mean", metric, arm)
    (row,) = (row for row in STATISTICS if (row.analysis, row.metric, row.runtime_a) == wanted)
    return row


def test_every_turn_was_played_three_times():
    assert TURNS.group_by("arm").len().sort("arm").rows() == [("persistent_code", 225), ("stateless_code", 225)]


def test_shares_of_passed_turns_and_their_intervals():
    for arm in ("persistent_code", "stateless_code"):
        row = statistic("passed_pct", arm)
        tiers = TURNS.filter(arm=arm).group_by("tier").agg(pl.col("is_passed").mean()).sort("tier")["is_passed"]
        shares = " | ".join(f"{100 * share:.1f} %" for share in tiers)
        assert f"| `{arm}` | {row.estimate:.1f} % [{row.low:.1f}, {row.high:.1f}] | {shares} |" in PAGE


def test_passed_turns_and_their_cases_are_counted():
    passed = TURNS.filter("is_passed")
    cases = passed["case_id"].n_unique()
    assert (
        f"{passed.height} turn of {TURNS.filter(arm='persistent_code').height} passed, in {cases} of 25 cases" in PAGE
    )
    assert set(passed["arm"]) == {"persistent_code"}


def test_tokens_of_a_turn():
    tokens = [statistic("total_tokens", arm).estimate for arm in ("persistent_code", "stateless_code")]
    assert "{:,.0f} tokens in the persistent arm and {:,.0f} in the stateless one".format(*tokens) in PAGE


def test_the_arms_readme_rounds_the_same_shares():
    page = Path(str(files("carryover.tasks.cave.arms") / "README.md")).read_text(encoding="utf-8")
    shares = [statistic("passed_pct", arm).estimate for arm in ("persistent_code", "stateless_code")]
    told = "passed {:.1f} % of held-out turns with a state that persists and {:.1f} % without".format(*shares)
    assert told in " ".join(page.split())
