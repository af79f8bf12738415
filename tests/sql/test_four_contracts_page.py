"""The figures on the page of the four contracts are those of the kept rows."""

from importlib.resources import files
from pathlib import Path

import polars as pl

from tests.sql.kept_results import kept_table

FOLDER = Path(str(files("carryover.sql") / "results" / "laptop_injected"))
PAGE = (FOLDER.parent / "four_contracts.md").read_text(encoding="utf-8")
PROSE = " ".join(PAGE.split())


def table(name: str) -> pl.DataFrame:
    return kept_table(FOLDER.name, name)


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
    cells = table("four_contracts").filter(pl.col("base").is_in(["scratch", "common"]), variant="four-contracts")
    assert cells.filter(pl.col("cell").is_in(["I->S", "IP->P", "IP->S"]))["score_pct"].to_list() == [0.0] * 6
    on_common = cells.filter(base="common")
    scores = [on_common.filter(cell=cell)["score_pct"].item() for cell in ("I->IP", "I->I")]
    assert "{:.1f} and {:.1f} %".format(*scores) in PROSE
    ((episodes, missed),) = on_common.filter(cell="P->I").select("episode_count", "missing_name_pct").rows()
    assert f"in {episodes * missed / 100:.0f} of {episodes} on `common`" in PROSE
    assert f"I→IP scores {cells.filter(base='scratch', cell='I->IP')['score_pct'].item():.1f} %" in PAGE


def test_the_tokens_and_the_control_of_the_prose():
    cells = table("four_contracts").with_columns(pl.col("mean_tokens").round(0))
    ratios = []
    for cell in ("I->I", "P->P"):
        for base in ("scratch", "common"):
            one, other = (
                cells.filter(base=base, variant="four-contracts", cell=each)["mean_tokens"].item()
                for each in (cell, "S->S")
            )
            ratios.append(f"{one / other:.2f}")
    first, second, third, _ = ratios
    assert ratios[2:] == [third, third]
    assert f"I→I costs {first} and {second} times S→S, and P→P costs {third} times S→S on both bases" in PROSE
    lowest = cells.filter(variant="four-contracts-shuffled")["score_pct"].min()
    assert f"no cell scores less than {lowest:.0f} %" in PROSE


def test_what_was_missed_in_points_and_tokens():
    rows = table("injection").filter(interval_kind="t over seeds")
    repair = rows.filter(base="common", cell="IP->I", against="P->S").select("^score_points.*$").row(0)
    estimate, low, high = (-value for value in repair)
    assert f"scores {estimate:.1f} points less [{high:.1f}, {low:.1f}]" in PROSE
    unneeded = rows.filter(cell="P->IP", against="P->P").sort("base", descending=True).select("^token_ratio.*$").rows()
    on_scratch, on_common = (f"{ratio:.2f} [{low:.2f}, {high:.2f}]" for ratio, low, high in unneeded)
    assert f"P→IP takes {on_scratch} times P→P on `scratch`, {on_common} on `common`" in PROSE
    episodes = pl.read_parquet(FOLDER / "episodes.parquet").filter(
        base="common", train_contract="injected+persistent", runtime_contract="injected", purpose="evaluation"
    )
    endless = episodes.filter(pl.col("finish_reason") != "finish_tool")
    assert f"{endless.height} of its {episodes.height} episodes do not end" in PROSE
