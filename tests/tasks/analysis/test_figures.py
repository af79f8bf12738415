from xml.etree import ElementTree

import polars as pl

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


def test_figure_2_names_points_of_one_place_apart():
    cells = [POINT | {"condition": cell, "qwen3_8b_split": None} for cell in ("P->P", "P->S", "S->P", "S->S")]
    (drawing,) = draw_figure_2(pl.DataFrame(cells, infer_schema_length=None))
    labels = [element for element in ElementTree.fromstring(drawing.svg).iter() if element.text in ("P→P", "S→S")]
    assert len({element.attrib["transform"] for element in labels}) == 2
    assert "published" not in words(drawing.svg)  # no empty half


def test_no_rows_draw_nothing():
    assert draw_figure_2(pl.DataFrame([POINT]).clear()) == []
