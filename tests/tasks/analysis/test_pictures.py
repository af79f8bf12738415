import re
from io import StringIO
from xml.etree import ElementTree

import polars as pl
from rich.console import Console

from carryover.tasks.analysis.drawings import draw_cells
from carryover.tasks.analysis.pictures import cells_of, cells_svg, cells_text

CELL = {
    "condition": "P->P",
    "mean_tokens": 200.0,
    "mean_tokens_low": 150.0,
    "mean_tokens_high": 250.0,
    "missing_name_pct": 0.0,
    "missing_name_pct_low": None,
    "missing_name_pct_high": None,
    "score_pct": 50.0,
    "imports_per_step": None,
    "state_utilization": 1.0,
    "token_ratio": None,
}
MISMATCHED = CELL | {
    "condition": "P->S",
    "mean_tokens": 500.0,
    "mean_tokens_low": 400.0,
    "mean_tokens_high": 1000.0,
    "missing_name_pct": 100.0,
    "token_ratio": 2.5,
    "state_utilization": None,
}
STUDY = cells_of(pl.DataFrame([CELL, MISMATCHED], infer_schema_length=None))


def texts(svg):
    return [element.text for element in ElementTree.fromstring(svg).iter() if element.tag.endswith("text")]


def test_the_terminals_picture_fits_100_columns_and_names_empty_cells():
    console = Console(width=100, record=True, file=None)
    with console.capture() as capture:
        console.print(cells_text(STUDY, "laptop, not Qwen3-8B"))
    text = capture.get()
    assert "500 tokens, 2.50 x P→P" in text
    assert "100 % miss a name" in text
    assert text.count("no episodes") == 2
    assert max(map(len, text.splitlines())) <= 100


def test_a_terminal_colours_panels_by_training_below_a_bold_title():
    console = Console(file=StringIO(), width=100, force_terminal=True, color_system="standard")
    with console.capture() as capture:
        console.print(cells_text(STUDY, "The title"))
    title, headings, *panels = capture.get().splitlines()
    assert title == "\x1b[1mThe title\x1b[0m"
    assert re.findall(r"\x1b\[1m *(runs \w+) *\x1b\[0m", headings) == ["runs persistent", "runs stateless"]
    coloured = re.findall(r"\x1b\[(\d+)m trained (\w+) \x1b\[0m", "".join(panels))
    assert coloured == [("34", "persistent"), ("34", "persistent"), ("33", "stateless"), ("33", "stateless")]


def test_the_picture_is_well_formed_and_escapes_its_title():
    found = texts(cells_svg(STUDY, 'a < b & "c"'))
    assert 'a < b & "c"' in found
    assert found.count("aligned") == found.count("mismatched") == 2
    assert "imports/step 0.00, state use unknown" in found


def test_bar_length_is_the_share_of_the_highest_interval():
    svg = cells_svg(STUDY, "title")
    bars = dict(re.findall(r'width="([0-9.]+)" height="12" fill="(#[0-9a-f]+)"', svg))
    # 156 wide: 100 % of the episodes; 200 and 500 of 1,000 tokens
    assert bars == {"0.0": "#b3261e", "156.0": "#b3261e", "31.2": "#1f6fb2", "78.0": "#1f6fb2"}


def test_the_picture_is_narrow_enough_for_a_telephone():
    assert int(re.findall(r'width="([0-9]+)"', cells_svg(STUDY, "title"))[0]) <= 390 - 2 * 13


def test_tokens_that_nobody_counted_are_unknown():
    uncounted = CELL | {"mean_tokens": None, "mean_tokens_low": None, "mean_tokens_high": None}
    assert "tokens unknown" in texts(cells_svg({"P->P": uncounted}, "title"))


def test_contracts_of_ones_own_alone_have_no_2x2():
    setting = {"variant": "main", "base": "scratch", "visibility": "declared", "header": "names", "bucket": "small"}
    own = CELL | setting | {"measured_on": "laptop", "condition": "recent-1->recent-3"}
    tables = {"cells": pl.DataFrame([own], infer_schema_length=None)}
    assert draw_cells(tables.__getitem__) == []


def test_the_terminals_bars_are_shares_of_the_highest_interval():
    uncounted = CELL | {"condition": "S->S", "mean_tokens": None, "token_ratio": None}
    console = Console(width=100, file=None)
    with console.capture() as capture:
        console.print(cells_text({**STUDY, "S->S": uncounted}, "title"))
    # 35 characters for 1,000 tokens: 200, 500, and none that were counted
    assert sorted(map(len, re.findall("█+", capture.get()))) == [7, 18]


def test_a_cells_words_tell_every_number():
    words = texts(cells_svg(STUDY, "title"))
    assert {"0 % miss a name", "200 tokens", "score 50.0", "imports/step 0.00, state use 1.00"} <= set(words)
    assert {"100 % miss a name", "500 tokens, 2.50 x P→P"} <= set(words)
    unscored = CELL | {"score_pct": None, "imports_per_step": 1.5}
    assert {"no score", "imports/step 1.50, state use 1.00"} <= set(texts(cells_svg({"P->P": unscored}, "title")))
