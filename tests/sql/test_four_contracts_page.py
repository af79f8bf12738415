"""The figures on the page of the four contracts are those of the kept rows."""

from importlib.resources import files
from pathlib import Path

import polars as pl

from carryover.storage.study.results import open_results
from carryover.tasks.analysis.queries import table_query

FOLDER = Path(str(files("carryover.sql") / "results" / "laptop_injected"))
PAGE = (FOLDER.parent / "four_contracts.md").read_text(encoding="utf-8")


def table(name: str) -> pl.DataFrame:
    with open_results(FOLDER) as results:
        return results.sql(table_query(name).sql, plan_digest=FOLDER.name).polars()


def test_the_contrasts_of_the_page():
    rows = table("injection").with_columns(
        pl.format("{} over {}", *(pl.col(name).str.replace("->", "→") for name in ("cell", "against"))).alias(
            "contrast"
        )
    )
    over_seeds = [rows.filter(base=base, interval_kind="t over seeds") for base in ("scratch", "common")]
    lines = [line for line in PAGE.splitlines() if line.endswith("] |")]
    assert len(lines) == 6
    for line in lines:
        contrast, *printed = (cell.strip() for cell in line.strip("|").split("|"))
        for ratios, text in zip(over_seeds, printed, strict=True):
            ((estimate, low, high),) = (
                ratios.filter(contrast=contrast.removesuffix(", tokens")).select("^token_ratio.*$").rows()
            )
            assert text == f"{estimate:.2f} [{low:.2f}, {high:.2f}]"


def test_the_scores_of_the_page():
    cells = table("four_contracts").filter(pl.col("base").is_in(["scratch", "common"]))
    assert cells.filter(pl.col("cell").is_in(["I->S", "IP->P", "IP->S"]))["score_pct"].to_list() == [0.0] * 6
    on_common = cells.filter(base="common")
    scores = [on_common.filter(cell=cell)["score_pct"].item() for cell in ("I->IP", "I->I")]
    assert "{:.1f} and {:.1f} %".format(*scores) in PAGE
    ((episodes, missed),) = on_common.filter(cell="P->I").select("episode_count", "missing_name_pct").rows()
    assert f"in {episodes * missed / 100:.0f} of {episodes} on\n  `common`" in PAGE
    assert f"I→IP scores {cells.filter(base='scratch', cell='I->IP')['score_pct'].item():.1f} %" in PAGE
