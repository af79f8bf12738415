"""Summary of a study on one screen."""

from collections.abc import Callable, Mapping
from io import StringIO
from typing import Any

import polars as pl
from rich.console import Console

from carryover.tasks.analysis.formatting import describe_setting
from carryover.tasks.analysis.pictures import cells_of, cells_text
from carryover.tasks.analysis.rendering import rich_table
from carryover.tasks.analysis.statistic_rows import GROUP_COLUMNS

Row = Mapping[str, Any]
"""A row of the table `mechanism`."""

TOKEN_COLUMNS = {
    "condition": "cell",
    "mean_tokens": "mean",
    "mean_tokens_low": "mean_low",
    "mean_tokens_high": "mean_high",
    "median_tokens": "median",
    "mean_tokens_of_ended": "mean_of_ended",
    "ended_count": "ended_episodes",
    "token_ratio": "ratio_to_p_on_p",
    "token_ratio_low": "ratio_to_p_on_p_low",
    "token_ratio_high": "ratio_to_p_on_p_high",
}
"""Columns of the table `cells` on tokens, as the summary names them."""
ELSEWHERE = (
    "All tables: `carryover tables`. One page with figures: `carryover report`. Verdicts on the hypotheses: "
    "`carryover hypotheses`."
)


WIDTHS = (80, 100)
"""Least and most columns of a summary."""


def study_summary(query: Callable[[str], pl.DataFrame], width: int = WIDTHS[0]) -> str:
    """Return a study's main setting as text of `width` columns.

    `query(name)` returns the rows of a file of `sql/tables`.
    """
    settings = query("mechanism")
    cells = query("cells")
    if cells.is_empty():
        return f"{findings(settings)[0]}\n"
    has_2x2 = not settings.is_empty()
    setting = (settings if has_2x2 else cells).row(0, named=True)
    own = cells.filter(*(pl.col(column) == setting[column] for column in GROUP_COLUMNS))
    tokens = own.select(pl.col(column).alias(name) for column, name in TOKEN_COLUMNS.items())
    sentences = findings(settings)
    if has_2x2 and setting["no_pair_verdict_reason"] is None:
        sentences += robust_findings(own)
    least, most = WIDTHS
    console = Console(file=StringIO(), width=min(max(width, least), most), highlight=False)
    with console.capture() as capture:
        title = f"{describe_setting(**setting)} ({setting['measured_on']})"
        console.print(cells_text(cells_of(own), title) if has_2x2 else title)
        console.print(f"\n{' '.join(sentences)}\n", markup=False)
        console.print(rich_table("tokens", tokens, title="Tokens per episode"))
        console.print(ELSEWHERE, markup=False)
    return capture.get()


def findings(settings: pl.DataFrame) -> list[str]:
    """Return sentences on the first row of the table `mechanism`.

    Where the setting bears no verdict, the one sentence says why. Missing names need no pairs that ended.
    """
    if settings.is_empty():
        return ["No model has been trained and evaluated under the persistent and stateless contracts."]
    setting = settings.row(0, named=True)
    if setting["no_verdict_reason"] is not None:
        return [f"No verdict: {setting['no_verdict_reason']}."]
    if setting["no_pair_verdict_reason"] is not None:
        found = [f"No verdict on tokens: {setting['no_pair_verdict_reason']}.", _missing_names(setting)]
        return [sentence for sentence in found if sentence]
    if setting["interaction_ratio"] is None or setting["interaction_ratio_low"] is None:
        return ["The interaction of training and runtime has no interval yet."]
    found = [_cost_of_a_runtime(setting), _ratios(setting), _script_control(setting), _missing_names(setting)]
    found += [_ended_pairs(setting), _single_seed(setting)]
    return [sentence for sentence in found if sentence]


def _cost_of_a_runtime(setting: Row) -> str:
    low = setting["interaction_ratio_low"]
    high = setting["interaction_ratio_high"]
    seeds = setting["seed_count"]
    kept = f"{setting['p_on_s_token_ratio']:.2f}"
    dropped = f"{setting['s_on_s_token_ratio'] / setting['s_on_p_token_ratio']:.2f}"
    kind = "over instances"
    if seeds > 1:
        kind = f"the wider of two over {seeds} training seeds"
    says = "depends" if high < 1 or low > 1 else "is not shown to depend"
    return (
        f"What a runtime costs {says} on the runtime of training: dropping state multiplies the tokens of a model "
        f"trained with it by {kept}, of one trained without it by {dropped}; "
        f"the ratio of ratios is {setting['interaction_ratio']:.2f} [{low:.2f}, {high:.2f}] (95 %, {kind})."
    )


def _ratios(setting: Row) -> str:
    p_on_s = setting["p_on_s_token_ratio"]
    s_on_p = setting["s_on_p_token_ratio"]
    s_on_s = setting["s_on_s_token_ratio"]
    return f"Beside P→P's tokens, P→S costs {p_on_s:.2f} times, S→P {s_on_p:.2f} and S→S {s_on_s:.2f}."


def _script_control(setting: Row) -> str:
    """Return what scripts do without a model, or nothing."""
    if setting["script_interaction_ratio"] is None:
        return ""
    p_on_s = setting["script_p_on_s_token_ratio"]
    s_on_p = setting["script_s_on_p_token_ratio"]
    s_on_s = setting["script_s_on_s_token_ratio"]
    return (
        f"The scripts that wrote the traces give {p_on_s:.2f}, {s_on_p:.2f} and {s_on_s:.2f} without any model, and a "
        f"ratio of ratios of {setting['script_interaction_ratio']:.2f}: its size is theirs."
    )


def _missing_names(setting: Row) -> str:
    """Return which cells miss names, or nothing where not all were played."""
    if setting["p_on_s_missing_name_pct"] is None or setting["most_missing_name_pct_elsewhere"] is None:
        return ""
    return (
        f"Episodes that miss a name: {setting['p_on_s_missing_name_pct']:.0f} % where state is dropped after training "
        f"with it (P→S), at most {setting['most_missing_name_pct_elsewhere']:.0f} % in the other cells."
    )


def _ended_pairs(setting: Row) -> str:
    ratio = setting["p_on_s_ended_token_ratio"]
    if ratio is None:
        return ""
    return f"Among pairs that ended, P→S costs {ratio:.2f} times P→P's tokens."


def _single_seed(setting: Row) -> str:
    if setting["seed_count"] > 1:
        return ""
    return "One training seed: the interval leaves out how two trainings differ by chance."


def robust_findings(rows: pl.DataFrame) -> list[str]:
    """Return sentences on median episodes, which endless ones do not move."""
    cells = {condition.replace("->", "→"): cell for condition, cell in cells_of(rows).items()}
    medians = {condition: cell["median_tokens"] for condition, cell in cells.items() if cell["median_tokens"]}
    aligned = medians.pop("P→P", None)
    sentences = []
    if aligned and medians:
        ratios = (f"{median / aligned:.2f} in {condition}" for condition, median in medians.items())
        sentences.append(f"Median tokens over P→P's: {', '.join(ratios)}.")
    endless = [
        f"{cell['episode_count'] - cell['ended_count']} of {cell['episode_count']} in {condition}"
        for condition, cell in cells.items()
        if cell["ended_count"] < cell["episode_count"]
    ]
    if endless:
        sentences.append(f"Episodes without an end, which the limit of turns cut: {', '.join(endless)}.")
    return sentences
