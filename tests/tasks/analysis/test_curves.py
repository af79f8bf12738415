"""Figures of the dose studies."""

import itertools
import re
from itertools import product

import polars as pl
import pytest

from carryover.tasks.analysis.curves import draw_batches, draw_lifetimes, draw_mixture
from tests.tasks.analysis.test_figures import bar_lengths

BATCH = {
    "measured_on": "laptop, not Qwen3-8B",
    "condition": "P->S",
    "interaction_ratio": 0.5,
    "interaction_ratio_low": 0.4,
    "interaction_ratio_high": 0.6,
    "script_interaction_ratio": 0.46,
    "script_interaction_ratio_low": None,
    "script_interaction_ratio_high": None,
    "trained_missing_names": 4.4,
    "script_missing_names": 4.3,
}
SHARE = {
    "measured_on": "laptop, not Qwen3-8B",
    "missing_name_episode_pct": 40.0,
    "widest_missing_name_episode_pct_low": 30.0,
    "widest_missing_name_episode_pct_high": 50.0,
    "ratio_to_unmixed": 1.1,
}


def test_batches_are_drawn_with_the_scripts_beside_the_models():
    rows = pl.DataFrame([BATCH | {"batch": batch} for batch in ("1", "3", "all")])
    (drawing,) = draw_batches(rows)
    assert drawing.name == "batches"
    for words in ("interaction of tokens (ratio)", "missing names per P-&gt;S episode", "trained", "scripts", ">all<"):
        assert words in drawing.svg
    assert drawing.setting == "Ours: laptop, not Qwen3-8B."


def test_bars_reach_to_the_ends_of_the_intervals_that_there_are():
    ends = {"all": (0.4, 0.6), "low": (0.4, None), "high": (None, 0.55), "above": (0.55, 0.6), "below": (0.3, 0.4)}
    rows = [
        BATCH | {"batch": batch, "interaction_ratio_low": low, "interaction_ratio_high": high}
        for batch, (low, high) in ends.items()
    ]
    (drawing,) = draw_batches(pl.DataFrame(rows))
    _, upright = bar_lengths(drawing.svg)
    assert upright == pytest.approx([1, 0.5, 0.25, 0.5, 1] + [0] * 5, abs=1e-3)  # the scripts have no intervals


def test_mixture_is_drawn_with_and_without_a_declared_contract():
    cells = product((0.0, 0.5), (True, False), ("P->S", "P->P"))
    rows = pl.DataFrame(
        [SHARE | {"other_share": share, "is_declared": shown, "condition": cell} for share, shown, cell in cells]
    )
    (drawing,) = draw_mixture(rows)
    assert drawing.name == "mixture"
    for words in (">50%<", "P-&gt;P, declared", "P-&gt;P, undeclared", "tokens at home (ratio)"):
        assert words in drawing.svg
    dashed = re.findall(r'fill: none; (stroke-dasharray)?[^"]*stroke: #1f6fb2; stroke-width: 1.5', drawing.svg)
    assert dashed == ["", "stroke-dasharray"] * 2  # the undeclared ones, in the panel and its legend


def test_bars_of_a_share_end_where_shares_do():
    def drawn(low, high):
        ends = {"widest_missing_name_episode_pct_low": low, "widest_missing_name_episode_pct_high": high}
        cells = product((True, False), ("P->S", "P->P", "S->S"))
        rows = [SHARE | ends | {"other_share": 0.5, "is_declared": shown, "condition": cell} for shown, cell in cells]
        return draw_mixture(pl.DataFrame(rows))

    assert drawn(-86.2, 138.5) == drawn(0.0, 100.0) != drawn(10.0, 90.0)


def test_shares_stand_in_the_rows_order():
    shares = [number / 16 for number in range(13)]
    cells = product(shares, (True, False), ("P->S", "P->P"))
    rows = [SHARE | {"other_share": share, "is_declared": shown, "condition": cell} for share, shown, cell in cells]
    (drawing,) = draw_mixture(pl.DataFrame(rows))
    labels = re.findall(r">(\d+)%<", drawing.svg)
    assert labels == sorted(labels[: len(shares)], key=int) * 2


def test_lifetimes_are_drawn_per_visibility_with_a_line_per_model():
    value = {"measured_on": "laptop, not Qwen3-8B"}
    for column in ("mean_total_tokens", "missing_names_per_episode"):
        value |= {column: 10.0, f"widest_{column}_low": 9.0, f"widest_{column}_high": 11.0}
    lifetimes = ("0", "1", "3", "all")
    places = itertools.product(("declared", "as_trained"), lifetimes, lifetimes)
    rows = pl.DataFrame(
        [value | {"visibility": shown, "trained_blocks": one, "played_blocks": other} for shown, one, other in places]
    )
    declared, as_trained = draw_lifetimes(rows)
    assert (declared.name, as_trained.name) == ("lifetimes_declared", "lifetimes_as_trained")
    for words in ("tokens per episode", "missing names per episode", "trained: 3", "trained: all", ">all<"):
        assert words in declared.svg
    assert as_trained.setting == "Ours: laptop, not Qwen3-8B; visibility as_trained."


def test_equal_rows_give_equal_drawings():
    rows = pl.DataFrame([BATCH | {"batch": "1"}])
    assert draw_batches(rows) == draw_batches(rows)


def test_no_rows_give_no_drawing():
    assert draw_batches(pl.DataFrame()) == draw_mixture(pl.DataFrame()) == draw_lifetimes(pl.DataFrame()) == []
