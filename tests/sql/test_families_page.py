"""The page on other task families says what its kept rows say."""

from importlib.resources import files
from pathlib import Path

import polars as pl
import pytest

from carryover.tasks.analysis.queries import table_query
from carryover.tasks.stages.results import EPISODES, open_results

RESULTS = Path(str(files("carryover.sql") / "results"))
PROSE = " ".join((RESULTS / "families.md").read_text(encoding="utf-8").split())


@pytest.fixture(scope="module")
def tables():
    """A function that returns the rows of a table of the map's study."""
    folder = RESULTS / "map_exploration"
    with open_results(folder) as results:
        yield lambda name: results.sql(table_query(name).sql, plan_digest=folder.name).polars().rows(named=True)


def test_the_maps_findings_are_those_of_its_cells(tables):
    cells = {row["condition"]: row for row in tables("cells")}
    scripts, models, *_ = tables("side_by_side")
    home, away, stateless = cells["P->P"], cells["P->S"], cells["S->S"]
    ended = f"{home['ended_count']} of {home['episode_count']} P→P episodes end"
    assert f"{ended}, and the mean score is {home['score_pct']:.1f} % of the optimum" in PROSE
    assert f"the script has {scripts['p_on_p_score_pct']:.1f} %" in PROSE
    assert away["missing_name_pct"] == stateless["missing_name_pct"] == 100
    assert f"in {home['missing_name_pct']:.1f} % of the P→P episodes" in PROSE
    ratio, low, high = (models[f"p_on_s_token_ratio{end}"] for end in ("", "_low", "_high"))
    assert f"{ratio:.2f} [{low:.2f}, {high:.2f}] times P→P's tokens" in PROSE
    assert f"{scripts['p_on_s_token_ratio']:.2f} for the script alone" in PROSE
    assert f"{stateless['ended_count']} of {stateless['episode_count']} S→S episodes end" in PROSE
    kept = pl.read_parquet(RESULTS / "map_exploration" / EPISODES).filter(purpose="evaluation", base="scratch")
    missed = kept.filter(condition="P->P").group_by("training_seed").agg(pl.col("has_missing_name").mean())
    assert dict(missed.rows()) == {1: 0.57, 2: 0.0}
    assert "57 % with seed 1, none with seed 2" in PROSE
    pair = ["instance_id", "training_seed"]
    normal = kept.filter(finish_category="normal")
    pairs = normal.filter(condition="P->P").join(normal.filter(condition="P->S"), on=pair)
    tokens = pairs.select("total_tokens_right", "total_tokens").sum().row(0)
    assert f"of the {pairs.height} pairs that ended, {tokens[0] / tokens[1]:.2f}" in PROSE
    assert scripts["most_missing_name_pct_elsewhere"] == 0
