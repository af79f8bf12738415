"""Words, colours and marks of every figure, counted, whatever place the layout gives them."""

import re
from collections import Counter
from functools import cache
from itertools import product
from xml.etree import ElementTree

import polars as pl
import pytest

from carryover.tasks.analysis.drawings import draw_cells, draw_figures
from carryover.tasks.analysis.figures import STYLE
from tests.presets import as_kept, kept_presets
from tests.tasks.analysis.test_curves import BATCH, SHARE
from tests.tasks.analysis.test_figures import BEHAVIOUR, GROUP, POINT
from tests.tasks.analysis.test_pictures import CELL, MISMATCHED


def frame(*rows):
    return pl.DataFrame(list(rows), infer_schema_length=None)


def drawn(drawing):
    """Return a drawing's words, and how many elements have each style."""
    elements = list(ElementTree.fromstring(drawing.svg).iter())
    styles = Counter(element.attrib["style"] for element in elements if "style" in element.attrib)
    kinds = Counter(element.tag.rpartition("}")[2] for element in elements)
    words = [text for element in elements if (text := (element.text or "").strip()) and element.tag.endswith("text")]
    return {
        "name": drawing.name,
        "caption": drawing.caption,
        "setting": drawing.setting,
        "words": words,
        "styles": {re.sub(r"\s+", "", style): count for style, count in sorted(styles.items())},
        "marks": {kind: kinds[kind] for kind in ("path", "use", "clipPath")},
    }


def points():
    cells = ("P->P", "P->S", "S->P", "S->S")
    trained = [POINT | {"condition": cell, "score_pct_low": 70.0, "score_pct_high": 90.0} for cell in cells]
    base = POINT | {"model": "base", "condition": "common->S", "qwen3_8b_score_pct": None, "score_pct": 20.0}
    return frame(*trained, base, POINT | {"bucket": "small_large", "qwen3_8b_split": None})


def lifetimes():
    value = {"measured_on": "laptop"}
    for column in ("mean_total_tokens", "missing_names_per_episode"):
        value |= {column: 10.0, f"widest_{column}_low": 9.0, f"widest_{column}_high": 11.0}
    places = product(("0", "1", "all"), ("0", "1", "all"))
    return frame(*(value | {"visibility": "declared", "trained_blocks": a, "played_blocks": b} for a, b in places))


BATCHES = frame(*(BATCH | {"batch": batch} for batch in ("1", "3", "all")), BATCH | {"batch": "1", "condition": "S->S"})
SHARES = product((0.0, 0.1, 0.5), (True, False), ("P->S", "P->P", "S->S"))
MIXTURE = frame(*(SHARE | {"other_share": a, "is_declared": b, "condition": c} for a, b, c in SHARES))
BEHAVIOURS = frame(
    *(BEHAVIOUR | {"condition": cell, "imports_per_step": 0.5} for cell in ("P->P", "P->S", "S->P", "S->S")),
    BEHAVIOUR | {"bucket": "other", "qwen3_8b_state_utilization": 0.9},
)
TABLES = {
    "figure_2": points(),
    "figure_3": BEHAVIOURS,
    "batches": BATCHES,
    "mixture": MIXTURE,
    "lifetimes": lifetimes(),
    "cells": frame(CELL | GROUP | {"bucket": "small"}, MISMATCHED | GROUP | {"bucket": "small"}),
}
NAMES = ("figure_2", "figure_3", "batches", "mixture", "lifetimes", "cells")


@cache
def drawings():
    return dict(zip(NAMES, [*draw_figures(TABLES.__getitem__, TABLES), *draw_cells(TABLES.__getitem__)], strict=True))


@pytest.mark.parametrize("name", NAMES)
def test_a_figure_has_these_words_colours_and_marks(name):
    assert as_kept(drawn(drawings()[name])) == kept_presets(__file__, "figures.json")[name]


def test_figures_share_one_style():
    assert as_kept(STYLE) == kept_presets(__file__, "figures.json")["style"]


def test_tables_of_ones_own_have_no_figures_of_the_paper():
    assert draw_figures(TABLES.__getitem__, {"cells"}) == []
