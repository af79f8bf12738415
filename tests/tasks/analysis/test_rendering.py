from io import StringIO

import polars as pl
import pytest
from rich.console import Console

from carryover.tasks.analysis.formatting import format_value, heading
from carryover.tasks.analysis.rendering import Sheet, render_table, rich_table, sheets

CELLS = pl.DataFrame(
    {
        "variant": ["main", "main", "no_faults"],
        "bucket": ["small", "small", "small"],
        "condition": ["P->P", "P->S", "P->P"],
        "measured_on": ["laptop, not Qwen3-8B"] * 3,
        "score_pct": [81.25, None, 50.0],
        "mean_total_tokens": [1234.5, 20.0, 1.0],
        "qwen3_8b_split": ["easy", "easy", None],
        "qwen3_8b_score_pct": [81.1, 82.2, None],
        "score_pct_difference": [None, None, None],
    },
    schema_overrides={"score_pct_difference": pl.Float64},
)
READINGS = pl.DataFrame({"metric": ["avg_steps"], "measured_on": ["smoke, not Qwen3-8B"], "p_value": [0.0004]})


def test_cells_are_columns_and_groups_are_sheets():
    first, second = sheets(CELLS)
    assert first.caption == "variant main, bucket small"
    assert first.header == ("laptop, not Qwen3-8B", "P→P", "P→S")
    assert first.rows == (
        ("score %", "81.2", ""),
        ("mean total tokens", "1,234", "20.00"),
        ("Qwen3-8B Easy (published): score %", "81.1", "82.2"),
    )
    assert second.rows == (("score %", "50.0"), ("mean total tokens", "1.00"))


def test_words_that_begin_with_digits_are_left_aligned():
    words = ["10, 11, 49, 16 of 86", "15 episodes separate both cells of the table"]
    (sheet,) = sheets(pl.DataFrame({"claim": ["a", "b"], "recomputed": words, "tolerance": [0.5, 0.1]}))
    assert sheet.number_columns() == [False, False, True]


@pytest.mark.parametrize("digest", ["9c4ad967263848f0", "ac4ad967263848f0", "1234567890123456"])
def test_digests_are_left_aligned_whatever_their_first_character(digest):
    (sheet,) = sheets(pl.DataFrame({"dataset_id": [digest] * 2, "metric": ["yield", "tokens"], "value": [1234, 5]}))
    assert sheet.number_columns() == [False, False, True]


BLOCKS = pl.DataFrame(
    {
        "bucket": ["small"] * 3,
        "model": ["sft"] * 3,
        "condition": ["P->P", "P->P", "P->S"],
        "measured_on": ["laptop"] * 3,
        "finish_reason": ["finished", "max_steps", "finished"],
        "episode_count": [99, 1, 100],
        "cell_episode_count": [100, 100, 100],
        "episode_pct": [99.0, 1.0, 100.0],
    }
)
"""Two rows of a cell, told apart by their reason."""


def test_several_rows_per_cell_become_a_block_per_number():
    (sheet,) = sheets(BLOCKS)
    assert sheet.header == ("laptop", "finish reason", "P→P", "P→S")
    assert sheet.rows == (
        ("episode count", "finished", "99", "100"),
        ("", "max steps", "1", ""),
        ("cell episode count", "", "100", "100"),
        ("episode %", "finished", "99.0", "100.0"),
        ("", "max steps", "1.0", ""),
    )


def test_rows_that_no_word_tells_apart_stay_rows():
    frame = pl.DataFrame({"condition": ["P->P", "P->P"], "seed": [0, 1], "note": ["a", None]})
    (sheet,) = sheets(frame)
    assert sheet.header == ("condition", "seed", "note")
    assert sheet.rows == (("P→P", "0", "a"), ("P→P", "1", ""))


def test_the_split_of_published_values_stands_only_beside_such_values():
    frame = pl.DataFrame(
        {"variant": ["main", "costly"], "qwen3_8b_split": ["easy", "easy"], "qwen3_8b_ratio": [2.0, None]}
    )
    main, costly = sheets(frame.with_columns(ratio=pl.lit(1.5)))
    assert main.header == ("Qwen3-8B (published): split", "Qwen3-8B (published): ratio", "ratio")
    assert costly.header == ("ratio",)


def test_comparisons_are_labelled_by_their_arms():
    frame = pl.DataFrame(
        {
            "train_a": ["persistent"],
            "runtime_a": ["stateless"],
            "train_b": ["base"],
            "runtime_b": ["stateless"],
            "p_value": [0.25],
        }
    )
    assert sheets(frame)[0].header == ("", "P→S : base→S")


def test_comparisons_of_the_base_alone_are_labelled_too():
    arms = {"train_a": None, "runtime_a": "persistent", "train_b": None, "runtime_b": "stateless"}
    (sheet,) = sheets(pl.DataFrame([arms | {"p_value": 0.25}], schema_overrides=dict.fromkeys(arms, pl.String)))
    assert (sheet.header, sheet.rows) == (("", "base→P : base→S"), (("p value", "0.250"),))


def test_other_tables_keep_their_rows_and_name_their_scale():
    assert sheets(READINGS)[0] == ("smoke, not Qwen3-8B", ("metric", "p value"), (("avg steps", "<0.001"),))


def test_a_count_has_no_decimals_and_a_mean_keeps_them():
    frame = pl.DataFrame(
        {
            "metric": ["retained", "mean_tokens"],
            "persistent": [12.0, 21.0],
            "stateless": [9.0, 42.5],
            "stateless_over_persistent": [0.75, 2.0],
        }
    )
    assert sheets(frame)[0].rows == (("retained", "12", "9", "0.75"), ("mean tokens", "21.00", "42.50", "2.00"))


def test_an_interval_stands_beside_its_estimate():
    frame = pl.DataFrame({"estimate": [0.4, None, 0.5], "low": [0.3, None, None], "high": [0.5, None, None]})
    (sheet,) = sheets(frame)
    assert (sheet.header, sheet.rows) == (("estimate",), (("0.40 [0.30, 0.50]",), ("",), ("0.50",)))


@pytest.mark.parametrize("width", [60, 100])
def test_a_terminals_table_keeps_to_its_width(width):
    cells = ["P->P", "P->S", "S->P", "S->S", "base->P", "base->S"]
    numbers = {"qwen3_8b_score_ci_half_width_pct": [4.7] * 6, "mean_total_tokens": [317_726.0] * 6}
    wide = pl.DataFrame({"condition": cells, "measured_on": ["laptop, not Qwen3-8B"] * 6, **numbers})
    words = pl.DataFrame(
        {f"note_{number}": ["a claim of nine words that nobody has recomputed"] for number in range(5)}
    )
    console = Console(file=StringIO(), width=width)
    for frame in (wide, words):
        with console.capture() as capture:
            console.print(rich_table("table_2", frame, title="Table 2"))
        printed = capture.get()
        assert max(map(len, printed.splitlines())) <= width
        arrows = {cell.replace("->", "→") for cell in cells}
        assert arrows <= set(printed.split()) or frame is words


def test_a_column_of_several_metrics_shows_shares_in_one_unit():
    frame = pl.DataFrame(
        {"metric": ["solved", "optimality"], "unit": ["percent", "fraction"], "persistent": [75.0, 0.94]}
    )
    assert sheets(frame)[0].rows == (("solved", "percent", "75.0"), ("optimality", "percent", "94.0"))


def test_markdown():
    assert render_table("table_9", READINGS, "markdown", title="Readings") == (
        "### Readings\n\nsmoke, not Qwen3-8B\n\n| metric | p value |\n| --- | ---: |\n| avg steps | <0.001 |\n"
    )


def test_latex_escapes_what_latex_would_read():
    frame = pl.DataFrame({"condition": ["P->P"], "measured_on": ["laptop"], "cost_pct": [50.0]})
    text = render_table("table_2", frame, "latex", title="50 % & more_")
    assert r"\caption{50 \% \& more\_}" in text
    assert "laptop & P$\\to$P \\\\" in text
    assert r"cost \% & 50.0 \\" in text


def test_csv_keeps_every_column_and_all_digits():
    assert (
        render_table("x", CELLS, "csv")
        .splitlines()[1]
        .startswith('main,small,P->P,"laptop, not Qwen3-8B",81.25,1234.5')
    )


def test_csv_has_lists_as_json():
    frame = pl.DataFrame({"names": [["x", "é"], [], None], "place": [{"step": 1}, {"step": 2}, None]})
    assert pl.read_csv(render_table("query", frame, "csv", layout="plain").encode()).rows() == [
        ('["x", "é"]', '{"step": 1}'),
        ("[]", '{"step": 2}'),
        (None, None),
    ]


def test_rich_text_has_title_caption_and_cells():
    text = render_table("table_2", CELLS, "rich", title="Table 2")
    assert text.startswith("Table 2\nvariant main, bucket small\n")
    assert "Qwen3-8B Easy (published): score %" in text


def test_rendered_text_has_no_colours_whatever_it_is_printed_to(monkeypatch):
    plain = render_table("table_2", CELLS, "rich", title="Table 2")
    terminal = StringIO()
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr("sys.stdout", terminal)
    monkeypatch.setenv("TERM", "xterm-256color")
    assert render_table("table_2", CELLS, "rich", title="Table 2") == plain
    assert terminal.getvalue() == ""


def test_a_terminal_shows_titles_bold_and_captions_slanted():
    console = Console(file=StringIO(), width=80, force_terminal=True, color_system="standard")
    with console.capture() as capture:
        console.print(rich_table("table_2", CELLS, title="Table 2"))
        console.print(rich_table("table_3", CELLS.clear()))
    lines = capture.get().splitlines()
    assert lines[:2] == ["\x1b[1mTable 2\x1b[0m", "\x1b[3mvariant main, bucket small\x1b[0m"]
    assert lines[-2:] == ["\x1b[1mtable_3\x1b[0m", "\x1b[3mno rows for this plan\x1b[0m"]


def test_the_plain_layout_keeps_rows_and_names():
    frame = pl.DataFrame({"condition": ["P->P", None], "tool": ["take_item", "inspect"], "calls": [1434, 2934]})
    assert render_table("query", frame, "markdown", layout="plain").splitlines()[2:] == [
        "| condition | tool | calls |",
        "| --- | --- | ---: |",
        "| P->P | take_item | 1,434 |",
        "|  | inspect | 2,934 |",
    ]


def test_an_empty_table_has_its_columns_as_csv():
    assert render_table("table_2", CELLS.clear(), "csv").strip() == ",".join(CELLS.columns)


@pytest.mark.parametrize("table_format", ["rich", "markdown", "latex"])
def test_an_empty_table_says_so(table_format):
    assert "no rows for this plan" in render_table("table_2", CELLS.clear(), table_format)


@pytest.mark.parametrize("table_format", ["rich", "markdown", "latex", "csv"])
def test_a_query_without_rows_has_its_columns_in_every_format(table_format):
    text = render_table("query", pl.DataFrame({"calls": [1], "tool": ["x"]}).clear(), table_format, layout="plain")
    assert "calls" in text
    assert "tool" in text


@pytest.mark.parametrize(
    ("column", "value", "text"),
    [
        ("score_pct", 81.25, "81.2"),
        ("p_value", 0.0314159, "0.031"),
        ("p_holm", 0.0001, "<0.001"),
        ("mean_total_tokens", 65432.1, "65,432"),
        ("imports_per_step", 0.294, "0.29"),
        ("density", 0.0041, "0.0041"),
        ("mean_seconds", 145.5, "145.5"),
        ("score_pct_low", 91.606, "91.6"),
        ("episode_count", 1200, "1,200"),
        ("is_default", True, "yes"),
        ("comparison_group", "native_vs_mismatched", "native vs mismatched"),
        ("claim", "P->S (Hard)", "P→S (Hard)"),
        ("note", None, ""),
    ],
)
def test_values_are_written_for_readers(column, value, text):
    assert format_value(column, value) == text


@pytest.mark.parametrize(
    ("column", "split", "text"),
    [
        ("qwen3_8b_hard_mean_a_pct", None, "Qwen3-8B Hard (published): mean a %"),
        ("qwen3_8b_score_pct", "easy", "Qwen3-8B Easy (published): score %"),
        ("qwen3_8b_estimate", None, "Qwen3-8B (published): estimate"),
        ("gemini_3_flash_easy_stateless", None, "Gemini 3 Flash Easy (published): stateless"),
        ("score_pct", "easy", "score %"),
        ("tokens_over_p_on_p", None, "tokens over P→P"),
        ("s_on_p_steps_on_plan", None, "S→P steps on plan"),
    ],
)
def test_columns_are_headed_in_words(column, split, text):
    assert heading(column, split=split) == text


def test_headings_of_many_columns_break_between_words():
    columns = [
        "redefinitions_per_block",
        "needs_persistence_share",
        "contradicting_share",
        *(f"share_{n}" for n in range(9)),
    ]
    text = render_table("lint", pl.DataFrame({column: [0.5] for column in columns}), "rich")
    assert {"redefinitions", "persistence", "contradicting"} <= set(text.split())
    assert max(map(len, text.splitlines())) <= 160


def test_every_part_of_a_wrapped_table_tells_its_rows_apart():
    rows = {"analysis": ["paired", "paired"], "metric": ["score", "tokens"]}
    numbers = {f"number_{number}": [1.5, 2.5] for number in range(12)}
    printed = render_table("query", pl.DataFrame(rows | numbers), "rich", layout="plain", width=60)
    firsts = [line.split()[:2] for line in printed.splitlines() if line.strip().startswith("paired")]
    assert firsts == [["paired", "score"], ["paired", "tokens"]] * (len(firsts) // 2)
    assert len(firsts) > 2


def test_first_column_takes_a_third_of_a_narrow_page():
    """As it does not fit, and its words are shorter."""
    rows = (("one two three four five six seven", "x" * 20, "y" * 20), ("eight", "z" * 20, "z" * 20))
    parts = list(Sheet("", ("name", "first", "second"), rows).fitted(60))
    assert parts == [
        (Sheet("", ("name", "first"), (rows[0][:2], rows[1][:2])), [20, 20]),
        (Sheet("", ("name", "second"), (rows[0][::2], rows[1][::2])), [20, 20]),
    ]
