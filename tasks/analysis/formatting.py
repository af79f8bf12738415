"""Headings of columns and formats of their values."""

import re
from collections.abc import Mapping
from typing import Any

MODELS = {"qwen3_8b_": "Qwen3-8B", "gemini_3_flash_": "Gemini 3 Flash"}
"""Prefixes of published columns, and the model that they were measured on."""

WORD_COLUMNS = frozenset({
    "analysis", "category", "comparison_group", "finish_category", "finish_reason", "metric", "published_category",
    "reading", "section", "table_6_category",
})  # fmt: skip
"""Columns of words rather than names: a reader sees spaces for their underscores."""

BASE_WORDS = {"common": "common with adapters", "both": "both idioms with adapters"}
VARIANT_WORDS = {
    "a-a": "every instance six times",
    "cap-binding": "a cap that binds",
    "costly": "mistakes cost score",
    "four-contracts": "four contracts",
    "four-contracts-shuffled": "four contracts, shuffled labels",
    "half-training": "half of the training",
    "header-none": "no names in the header",
    "no-faults": "no faults in training",
    "no-table": "no table printed by the stateless teacher",
    "no-variation": "no variation of wording and header",
    "quarter-adapter": "a quarter of the adapter's training",
    "quarter-training": "a quarter of the training",
    "shuffled-labels": "shuffled labels",
    "sixteenth-adapter": "a sixteenth of the adapter's training",
}
"""Bases and variants of the study in words."""

OF_ITS_OWN = re.compile("_over_|ratio|(p_value|p_holm|effect_size)$")
"""Names of columns that hold the same kind of number beside every metric, as a ratio or a p-value is."""

CELL = re.compile(r"\b([ps]) on ([ps])\b")
"""A cell of the 2x2 in the name of a column: `p_on_s` is P→S."""


def heading(column: str, *, split: str | None = None) -> str:
    """Return a column's name as words.

    `split` names the split of published columns whose name does not say it.
    """
    for prefix, model in MODELS.items():
        if column.startswith(prefix):
            rest = column.removeprefix(prefix)
            if rest.startswith(("easy_", "hard_")):
                split, _, rest = rest.partition("_")
            return f"{model}{f' {split.capitalize()}' if split else ''} (published): {_words(rest)}"
    return _words(column)


def describe_setting(*, variant: str, base: str, visibility: str, bucket: str, **_: object) -> str:
    """Describe a group of episodes.

    For example, `scratch, small, as trained, half of the training`.
    """
    words = [BASE_WORDS.get(base, base), bucket, visibility.replace("_", " ")]
    if variant != "main":
        words.append(VARIANT_WORDS.get(variant, variant.replace("-", " ")))
    return ", ".join(words)


def format_row(row: Mapping[str, Any]) -> dict[str, str]:
    """Return a row's values as text: `0.40 [0.34, 0.48]`.

    A metric whose values are all whole, a count, has no decimals. A fraction is shown as a percentage, so that a
    column of several metrics holds no 0.94 beside 75.0.
    """
    values = dict(row)
    measured = [name for name, value in row.items() if isinstance(value, float) and not OF_ITS_OWN.search(name)]
    if row.get("unit") == "fraction":
        values |= {name: 100 * row[name] for name in measured}
        values["unit"] = "percent"
    text = {name: format_value(name, value) for name, value in values.items()}
    decimals = _shared_decimals(values, measured)
    if decimals is not None:
        text |= {name: f"{values[name]:,.{decimals}f}" for name in measured}
    return _with_intervals(text)


def _shared_decimals(values: Mapping[str, Any], measured: list[str]) -> int | None:
    """Return a row's decimals: 1 of shares, 0 of counts, else None."""
    if values.get("unit") == "percent":
        return 1
    is_count = "metric" in values and all(values[name].is_integer() for name in measured)
    return 0 if is_count else None


def _with_intervals(text: dict[str, str]) -> dict[str, str]:
    """Return a row's texts with intervals beside their estimates."""
    joined = dict(text)
    for low, low_end in text.items():
        if low != "low" and "_low" not in low:
            continue
        high = low.replace("low", "high")
        estimate = low.replace("_low", "").replace("low", "estimate")
        if high not in text or estimate not in text:
            continue
        del joined[low]
        del joined[high]
        if text[estimate] and low_end and text[high]:
            joined[estimate] = f"{text[estimate]} [{low_end}, {text[high]}]"
    return joined


def format_value(column: str, value: Any) -> str:
    """Return a value as text, rounded to its magnitude.

    Percentages and hundreds to 0.1, thousands whole, p-values to 0.001.
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return _format_float(column, value)
    text = str(value).replace("->", "→")
    return text.replace("_", " ") if column in WORD_COLUMNS else text


def _format_float(column: str, value: float) -> str:
    if column.endswith(("p_value", "p_holm")):
        return "<0.001" if value < 0.001 else f"{value:.3f}"
    if "_pct" in column or "_points" in column:
        return f"{value:.1f}"
    if abs(value) >= 100:
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.1f}"
    return f"{value:.2f}" if value == 0 or abs(value) >= 0.01 else f"{value:.2g}"


def _words(column: str) -> str:
    words = column.replace("_pct", " %").replace("_", " ").strip()
    return CELL.sub(lambda cell: "→".join(cell.groups()).upper(), words)
