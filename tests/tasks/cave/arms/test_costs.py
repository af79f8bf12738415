"""The page of costs holds the rows that it was drawn from."""

import re

import polars as pl
import pytest

from carryover.tasks.cave.arms.arm import ARMS
from carryover.tasks.cave.arms.costs import cost_page, draw_costs
from carryover.tasks.cave.arms.tokens import TOKENIZER

ROWS = pl.DataFrame(
    [
        ("token_efficiency", "all", 1, 0, "json", "oracle", 1234.4),
        ("token_efficiency", "all", 1, 0, "persistent_code", "oracle", 900.0),
        ("data_sizes", "all", 0, 5200, "json", "oracle", 50_000.0),
        ("data_sizes", "all", 0, 5200, "persistent_code", "oracle", 1000.0),
        ("bfcl", "parallel", 0, 0, "json", "oracle", 500.0),
        ("bfcl", "parallel", 0, 0, "persistent_code", "oracle", 750.0),
        ("bfcl", "simple", 0, 0, "json", "oracle", 300.0),
        ("bfcl", "simple", 0, 0, "persistent_code", "oracle", 300.0),
        *(("long_horizon", "all", turn, 0, "persistent_code", "oracle", 100.0 * turn) for turn in range(1, 21)),
    ],
    schema=["suite", "category", "turn", "data_row_count", "arm", "model_name", "mean_total_tokens"],
    orient="row",
)


def test_the_page_lists_tokens_by_arm():
    page = cost_page(ROWS)
    assert "| turn | persistent_code | json |" in page
    assert "| 1 | 900 | 1,234 |" in page
    assert "| 5,200 | 1,000 | 50,000 |" in page
    assert "split-1: a run of letters" in page


def test_the_page_says_where_injected_objects_cost_more():
    page = cost_page(ROWS)
    assert "## Tokens of a BFCL task by category\n" in page
    assert "| parallel | 750 | 500 |\n| simple | 300 | 300 |\n\n" in page
    assert "\n\nHere `persistent_code` costs 1.50 times `json` in 1 of 2 lines." in page
    assert page.count("Here `persistent_code`") == 1


def test_long_tables_list_every_second_turn():
    lines = cost_page(ROWS).partition("## Tokens of a long conversation")[2].splitlines()
    assert [line for line in lines if line.startswith("| 2")] == ["| 2 | 200 |", "| 20 | 2,000 |"]
    assert "| 3 | 300 |" not in lines


def test_a_short_page_is_told_whole():
    rows = ROWS.filter(pl.col("suite").is_in(["data_sizes", "bfcl"]))
    others = rows.filter(suite="data_sizes").with_columns(model_name=pl.lit("a model"))
    assert (
        cost_page(pl.concat([rows, others]))
        == f"""# What each arm costs in tokens

Played by: a model, oracle. The oracle's tokenizer: {TOKENIZER}.

![](cave_costs.svg)

## Tokens of a data task by rows of data

| data row count | persistent_code | json |
|---|---|---|
| 5,200 | 1,000 | 50,000 |

## Tokens of a BFCL task by category

| category | persistent_code | json |
|---|---|---|
| parallel | 750 | 500 |
| simple | 300 | 300 |

Here `persistent_code` costs 1.50 times `json` in 1 of 2 lines.
"""
    )


@pytest.mark.parametrize(
    ("height", "listed"), [(10, [*range(1, 11)]), (11, [2, 4, 6, 8, 10]), (21, [*range(3, 22, 3)])]
)
def test_ten_turns_at_most_are_listed_evenly(height, listed):
    shown = ("long_horizon", "all")
    rows = [(*shown, turn, 0, "json", "oracle", 1.0) for turn in range(1, height + 1)]
    page = cost_page(pl.DataFrame(rows, schema=ROWS.schema, orient="row"))
    assert re.findall(r"^\| (\d+) \| 1 \|$", page, re.MULTILINE) == [*map(str, listed)]
    assert "Here" not in page


def test_the_figure_is_the_same_for_the_same_rows():
    figure = draw_costs(ROWS)
    assert figure == draw_costs(ROWS.reverse())
    assert "<dc:date>" not in figure
    texts = re.findall(r"<text[^>]*>([^<]+)</text>", figure)
    titles = [text for text in texts if text.startswith("tokens of")]
    assert titles == [
        "tokens of a conversation by its n-th turn",
        "tokens of a data task by rows of data",
        "tokens of a long conversation by its n-th turn",
    ]
    assert [text for text in texts if text in ("turn", "data row count")] == ["turn", "data row count", "turn"]
    assert texts.count("prompt and completion tokens") == 3
    assert [text for text in texts if text in ARMS] == [*ARMS] * 3
    powers = re.findall(r"10\^\{(\d)\}", figure)
    assert powers == ["3", "4", "3", "4"]  # both axes of the data sizes are logarithmic
