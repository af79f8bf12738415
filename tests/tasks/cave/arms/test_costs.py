"""The page of costs holds the rows that it was drawn from."""

import polars as pl

from carryover.tasks.cave.arms.costs import cost_page, draw_costs

ROWS = pl.DataFrame(
    [
        ("token_efficiency", 1, 0, "json", "oracle", 1234.4),
        ("token_efficiency", 1, 0, "persistent_code", "oracle", 900.0),
        ("data_sizes", 0, 520, "json", "oracle", 50_000.0),
        ("data_sizes", 0, 520, "persistent_code", "oracle", 1000.0),
    ],
    schema=["suite", "turn", "data_row_count", "arm", "model_name", "mean_total_tokens"],
    orient="row",
)


def test_the_page_lists_tokens_by_arm():
    page = cost_page(ROWS)
    assert "| turn | persistent_code | json |" in page
    assert "| 1 | 900 | 1,234 |" in page
    assert "| 520 | 1,000 | 50,000 |" in page
    assert "split-1: a run of letters" in page


def test_the_figure_is_the_same_for_the_same_rows():
    assert draw_costs(ROWS) == draw_costs(ROWS)
    assert "persistent_code" in draw_costs(ROWS)
