"""Whole pages: tables in every format and width, and the summary of a study."""

import polars as pl
import pytest

from carryover.tasks.analysis.formatting import BASE_WORDS, VARIANT_WORDS, WORD_COLUMNS
from carryover.tasks.analysis.rendering import render_table
from carryover.tasks.analysis.summary import findings, study_summary
from tests.presets import as_kept, kept_presets
from tests.tasks.analysis.test_rendering import BLOCKS, CELLS, READINGS
from tests.tasks.analysis.test_summary import CELL, SCRIPTS, SETTING

ARMS = {"train_a": ["persistent", "base"], "runtime_a": ["stateless"] * 2, "train_b": ["base"] * 2}
VERDICT = {name: value for name, value in SETTING.items() if not name.endswith("verdict_reason")}
FRAMES = {
    "cells": CELLS,
    "readings": READINGS,
    "blocks": BLOCKS,
    "comparisons": pl.DataFrame(
        {
            **ARMS,
            "runtime_b": ["persistent"] * 2,
            "p_value": [0.25, 1e-5],
            "estimate": [0.4, None],
            "low": [0.3, None],
            "high": [0.5, 0.5],
        }
    ),
    "wide": pl.DataFrame(
        {
            "analysis": ["paired_runs", "paired_runs"],
            "claim": ["a claim of nine words that nobody has recomputed", "short"],
            "holds": [True, False],
            "digest": ["9c4ad967263848f0", "ac4ad967263848f0"],
            "names": [["a", "b"], []],
            **{f"mean_number_{number}": [number * 123.456, None] for number in range(14)},
        }
    ),
    "mechanism": pl.DataFrame([VERDICT, VERDICT | {"variant": "no-faults", "base": "common"}]),
    "empty": CELLS.clear(),
}


def pages(name):
    """Return a table in every format, as the study's and as any query's."""
    frame = FRAMES[name]
    formats = dict.fromkeys(("study", "plain"), ("rich", "markdown", "latex"))
    told = {
        f"{table_format}, {layout}": render_table(name, frame, table_format, layout=layout, title=f"Table of {name}_1")
        for layout, chosen in formats.items()
        for table_format in chosen
    }
    told["narrow"] = render_table(name, frame, "rich", width=60)
    told["csv"] = render_table(name, frame, "csv")
    return {key: text.splitlines() for key, text in told.items()}


def summary():
    cells = [CELL | {"condition": condition} for condition in ("P->P", "P->S", "S->P", "S->S")]
    frames = {"mechanism": pl.DataFrame([SETTING | SCRIPTS]), "cells": pl.DataFrame(cells)}
    other = pl.DataFrame([SETTING | {"seed_count": 1, "p_on_s_ended_token_ratio": None, "interaction_ratio_low": 1.2}])
    return [*study_summary(frames.__getitem__).splitlines(), *findings(other)]


def words():
    return {"bases": BASE_WORDS, "variants": VARIANT_WORDS, "columns": WORD_COLUMNS}


@pytest.mark.parametrize("name", FRAMES)
def test_a_table_is_rendered_so(name):
    assert pages(name) == kept_presets(__file__, "rendered.json")[name]


def test_a_summary_is_this_page():
    assert summary() == kept_presets(__file__, "rendered.json")["summary"]


def test_bases_and_variants_have_these_words():
    assert as_kept(words()) == kept_presets(__file__, "rendered.json")["words"]
