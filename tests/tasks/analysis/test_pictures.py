from xml.etree import ElementTree

import polars as pl
from rich.console import Console

from carryover.tasks.analysis.pictures import cells_of, cells_svg, cells_text


def episodes(*rows):
    """Rows of (train contract, runtime contract, tokens)."""
    return pl.DataFrame(
        [
            {
                "purpose": "evaluation",
                "is_counted": True,
                "train_contract": train,
                "runtime_contract": runtime,
                "score": 0.5,
                "total_tokens": tokens,
                "has_missing_name": runtime == "stateless",
                "imports_per_step": None if tokens == 0 else 0.25,
                "state_utilization": 1,
            }
            for train, runtime, tokens in rows
        ],
        schema_overrides={"imports_per_step": pl.Float64, "train_contract": pl.String},
    )


STUDY = episodes(
    ("persistent", "persistent", 100),
    ("persistent", "persistent", 300),
    ("persistent", "stateless", 500),
    (None, "persistent", 900),
)


def test_cells_are_means_with_tokens_over_those_of_the_aligned_cell():
    cells = cells_of(STUDY)
    assert set(cells) == {("persistent", "persistent"), ("persistent", "stateless")}
    assert cells["persistent", "stateless"].lines() == [
        "500 tokens (2.50 x P→P)",
        "missing name in 100 % of episodes",
        "score 50.0",
        "0.25 imports per step",
        "state utilization 1.00",
    ]


def test_what_nobody_counted_is_unknown():
    counted = pl.col("train_contract").is_null()
    uncounted = STUDY.with_columns(pl.when(counted).then(pl.col("total_tokens", "state_utilization")))
    lines = cells_of(uncounted)["persistent", "stateless"].lines()
    assert (lines[0], lines[-1]) == ("tokens unknown", "state utilization unknown")


def test_without_the_aligned_cell_there_is_no_ratio():
    assert cells_of(episodes(("persistent", "stateless", 500)))["persistent", "stateless"].token_ratio is None
    uncounted = cells_of(episodes(("persistent", "persistent", 0), ("persistent", "stateless", 0)))
    assert uncounted["persistent", "stateless"].token_ratio is None


def test_the_text_shows_every_cell_and_says_which_are_empty():
    console = Console(width=140, record=True, file=None)
    with console.capture() as capture:
        console.print(cells_text(cells_of(STUDY), "laptop, not Qwen3-8B"))
    text = capture.get()
    assert "2.50 x P→P" in text
    assert text.count("no episodes") == 2


def test_the_picture_is_well_formed_and_escapes_its_title():
    root = ElementTree.fromstring(cells_svg(cells_of(STUDY), 'a < b & "c"'))
    texts = [element.text for element in root.iter() if element.tag.endswith("text")]
    assert 'a < b & "c"' in texts
    assert texts.count("aligned") == texts.count("mismatched") == 2
