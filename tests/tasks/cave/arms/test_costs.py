"""The page of costs holds the rows that it was drawn from."""

import polars as pl

from carryover.tasks.cave.arms.costs import cost_page, draw_costs

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


def test_the_figure_is_the_same_for_the_same_rows():
    assert draw_costs(ROWS) == draw_costs(ROWS)
    assert "persistent_code" in draw_costs(ROWS)
