import re
from math import log
from xml.etree import ElementTree

import polars as pl
import pytest

from carryover.tasks.analysis.figures import draw_figure_2, draw_figure_3

GROUP = {
    "variant": "main",
    "base": "common",
    "visibility": "declared",
    "header": "names",
    "measured_on": "laptop, not Qwen3-8B",
}
POINT = GROUP | {
    "bucket": "small",
    "model": "sft",
    "condition": "P->P",
    "mean_total_tokens": 1000.0,
    "mean_total_tokens_low": 900.0,
    "mean_total_tokens_high": 1100.0,
    "score_pct": 80.0,
    "score_pct_low": None,
    "score_pct_high": None,
    "qwen3_8b_split": "easy",
    "qwen3_8b_mean_total_tokens": 19648,
    "qwen3_8b_score_pct": 81.1,
}
BEHAVIOUR = GROUP | {
    "bucket": "small",
    "condition": "P->P",
    "state_utilization": 1.0,
    "imports_per_step": None,
    "context_lifespan": 2.0,
    "interpreter_lifespan": 2.0,
    "qwen3_8b_split": None,
    "qwen3_8b_state_utilization": None,
    "qwen3_8b_imports_per_step": 0.29,
    "qwen3_8b_context_lifespan": None,
    "qwen3_8b_interpreter_lifespan": None,
}


def words(svg: str) -> str:
    return " ".join(
        "".join(element.itertext()) for element in ElementTree.fromstring(svg).iter() if "text" in element.tag
    )


def bar_lengths(svg: str) -> tuple[list[float], list[float]]:
    """Return the lengths of a drawing's horizontal and vertical bars, as shares of the first one's."""
    bar = r'd="M (\S+) (\S+) \nL (\S+) (\S+) \n" clip-path="[^"]*" style="fill: none; stroke: #\w+; stroke-width: 1.5"'
    ends = [tuple(map(float, found)) for found in re.findall(bar, svg)]
    across = [x2 - x1 for x1, y1, x2, y2 in ends if y1 == y2 and x1 != x2]
    upright = [y1 - y2 for x1, y1, x2, y2 in ends if x1 == x2]
    return [length / across[0] for length in across], [length / upright[0] for length in upright]


def test_figure_2_panels_name_scale_or_model_and_split():
    base = POINT | {"model": "base", "condition": "common->S", "qwen3_8b_score_pct": None}
    (drawing,) = draw_figure_2(pl.DataFrame([POINT, base], infer_schema_length=None))
    assert drawing.name == "figure_2_main_common_declared_names"
    for text in ("laptop, not Qwen3-8B: small", "Qwen3-8B (published): Easy", "P→P", "base→S"):
        assert text in words(drawing.svg)


def test_figure_2_names_a_scripted_teacher_in_full():
    teacher = POINT | {"model": "teacher", "condition": "teacher->S", "qwen3_8b_score_pct": None}
    (drawing,) = draw_figure_2(pl.DataFrame([POINT, teacher], infer_schema_length=None))
    assert "teacher→S" in words(drawing.svg)


def test_captions_say_what_was_chosen():
    assert "limits of the axes are ours" in draw_figure_2(pl.DataFrame([POINT]))[0].caption
    (drawing,) = draw_figure_3(pl.DataFrame([BEHAVIOUR]))
    assert "the axes of (b) and every horizontal axis are lost" in drawing.caption
    assert drawing.setting.endswith("variant main, base common, visibility declared, header names.")


def test_figure_3_draws_three_panels_per_bucket():
    other = BEHAVIOUR | {"bucket": "small_large"}
    (drawing,) = draw_figure_3(pl.DataFrame([BEHAVIOUR, other], infer_schema_length=None))
    text = words(drawing.svg)
    for title in ("(a) small", "(b) small", "(c) small", "(a) small_large"):
        assert title in text


def test_each_group_has_a_drawing_of_its_own():
    frame = pl.DataFrame([POINT, POINT | {"base": "scratch"}])
    assert [drawing.name.split("_")[3] for drawing in draw_figure_2(frame)] == ["common", "scratch"]


def test_the_same_rows_give_the_same_bytes():
    frame = pl.DataFrame([POINT])
    assert draw_figure_2(frame) == draw_figure_2(frame)


def test_points_without_counted_tokens_are_left_out():
    nothing = POINT | {"mean_total_tokens": 0.0, "mean_total_tokens_low": 0.0, "mean_total_tokens_high": 0.0}
    (drawing,) = draw_figure_2(pl.DataFrame([nothing]))
    assert "laptop, not Qwen3-8B: small" in words(drawing.svg)
    assert words(drawing.svg).count("P→P") == 1  # the published one


def test_bars_of_figure_2_reach_to_the_ends_of_the_intervals():
    scores = {
        "P->P": (79.6, 80.0, 80.2),
        "P->S": (71.0, 70.0, 72.0),
        "S->P": (None, 60.0, 61.0),
        "S->S": (49.4, 50, 50.9),
    }
    tokens = {"P->P": (900.0, 1100.0), "P->S": (500.0, 2000.0), "S->P": (900.0, None), "S->S": (1000.0, 1000.5)}
    cells = [
        POINT
        | dict(zip(("condition", "score_pct_low", "score_pct", "score_pct_high"), (cell, *scores[cell]), strict=True))
        | dict(zip(("mean_total_tokens_low", "mean_total_tokens_high"), tokens[cell], strict=True))
        | {"qwen3_8b_split": None}
        for cell in scores
    ]
    (drawing,) = draw_figure_2(pl.DataFrame(cells, infer_schema_length=None))
    across, upright = bar_lengths(drawing.svg)
    logs = [log(1100 / 900), log(2000 / 500), log(1000.5 / 1000)]
    assert across == pytest.approx([each / logs[0] for each in logs], abs=1e-3)
    assert upright == pytest.approx([1, 2.0 / 0.6, 1.5 / 0.6], rel=1e-3)  # no bar below a mean that its interval leaves


def test_figure_2_names_points_of_one_place_apart():
    cells = [POINT | {"condition": cell, "qwen3_8b_split": None} for cell in ("P->P", "P->S", "S->P", "S->S")]
    (drawing,) = draw_figure_2(pl.DataFrame(cells, infer_schema_length=None))
    labels = [element for element in ElementTree.fromstring(drawing.svg).iter() if element.text in ("P→P", "S→S")]
    assert len({element.attrib["transform"] for element in labels}) == 2
    assert "published" not in words(drawing.svg)  # no empty half


def test_no_rows_draw_nothing():
    assert draw_figure_2(pl.DataFrame([POINT]).clear()) == []
