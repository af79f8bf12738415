"""Numbers of both papers' tables that follow from others, recomputed."""

from collections.abc import Iterator
from statistics import fmean
from typing import Any, NamedTuple

from carryover.tasks.analysis.published_tables import (
    PRINTED,
    Cell,
    Recomputation,
    arm_label,
    cell_label,
    of_rows,
    printed_cell,
    published_table,
)
from carryover.tasks.traces.vocabulary import PAPER_CONTRACTS

CLASSES = {
    "constraint_or_protocol_violation": "protocol_or_sequencing_violation",
    "execution_instability": "cascading_execution_failure",
    "silent_suboptimality": "silent_suboptimality",
}
"""Table 3's failure classes, with the names that section 4.3 gives their shares."""


def recomputations() -> Iterator[Recomputation]:
    """Yield every published table value that follows from others, with its recomputation."""
    yield from _study_scores()
    yield from _study_counts()
    yield from _study_training()
    yield from _cave_benchmarks()
    yield from _cave_states()
    yield from _cave_costs()
    for row in _rows("cave_failure_analysis"):  # of the episodes that CaveAgent alone solved, how the other arm failed
        for cause in ("missing_action", "incomplete_exploration"):
            share = 100 * row[f"{cause}_count"] / row["only_solved_count"]
            yield of_rows("cave_failure_analysis", _words(cause), [row], f"{cause}_pct", share, within=0.05)


def _study_scores() -> Iterator[Recomputation]:
    """Yield Table 2's repeats of Tables 7-10; differences of 7, 8."""
    yield from _study_turns()
    cells = {cell_label(row): row for row in _rows("table_2")}
    means: dict[str, float] = {}
    for file in ("table_7", "table_8"):
        rows = _rows(file)
        for row in rows:
            if row["delta_published"] is not None:
                claim = "difference {} against {}, {}".format(*_compared(row), row["split"])
                yield of_rows(file, claim, [row], "delta_published", row["mean_a"] - row["mean_b"], within=0.005)
        for label, printed in _means_by_cell(file, rows).items():
            means.setdefault(label, printed.mean)
            claim = "mean of {} is that of Table 2, {}".format(*label.split(", "))
            score = cells[label]["score_pct"]
            yield Recomputation(*PRINTED[file], claim, means[label], score, 0.05, tuple(printed.places))
    for label, row in cells.items():
        claim = f"score is the mean of Tables 7 and 8, {label}"
        yield of_rows("table_2", claim, [row], "score_pct", means[label], within=0.05)


def _study_turns() -> Iterator[Recomputation]:
    """Yield Table 2's ratios and steps, and Tables 9 and 10's turns."""
    turns = {cell_label(row): row["total_turns"] for row in [*_rows("table_9"), *_rows("table_10")]}
    cells = {cell_label(row): row for row in _rows("table_2")}
    for label, row in cells.items():
        computed = row["score_pct"] / (row["mean_total_tokens"] / 1000)
        yield of_rows("table_2", f"score per 1k tokens, {label}", [row], "score_per_1k_tokens", computed, within=0.005)
        if label in turns:
            claim = f"steps are the turns of Tables 9 and 10, {label}"
            yield of_rows("table_2", claim, [row], "mean_steps", turns[label] / row["n_tasks"], within=0.005)
    for file in ("table_9", "table_10"):
        for row in _rows(file):
            cell = cells[cell_label(row)]
            claim = f"total turns are those of Table 2, {cell_label(row)}"
            yield of_rows(file, claim, [row], "total_turns", cell["n_tasks"] * cell["mean_steps"], within=0.5)


class _PrintedMean(NamedTuple):
    """A cell's mean score, and where a table of comparisons prints it."""

    mean: float
    places: list[Cell]


def _means_by_cell(file: str, rows: list[dict[str, Any]]) -> dict[str, _PrintedMean]:
    """Return Table 7's or 8's mean scores by cell, as first printed."""
    found: dict[str, _PrintedMean] = {}
    for row in rows:
        for arm, column in zip(_compared(row), ("mean_a", "mean_b"), strict=True):
            printed = found.setdefault(f"{arm}, {row['split']}", _PrintedMean(row[column], []))
            printed.places.append(printed_cell(file, row, column))
    return found


def _compared(row: dict[str, Any]) -> list[str]:
    """Return both arms of a comparison by their letters."""
    return [arm_label(row[f"train_{side}"], row[f"runtime_{side}"]) for side in "ab"]


def _study_counts() -> Iterator[Recomputation]:
    """Yield Table 3's failure classes and their shares in section 4.3."""
    counts: dict[tuple[str, str], float] = {}
    for row in _rows("failure_analysis"):
        label = cell_label(row)
        category = row["category"]
        unsolved = row["denominator_unsolved"]
        counts[label, category] = row["pct_of_unsolved_published"] / 100 * unsolved
        claim = f"share of unsolved: {_words(category)}, {label}"
        computed = 100 * row["count_recomputed"] / unsolved
        yield of_rows("failure_analysis", claim, [row], "pct_of_unsolved_published", computed, within=0.05)
    for row in _rows("table_3"):
        label = cell_label(row)
        total = sum(row[name] for name in CLASSES)
        yield of_rows("table_3", f"classes add up, {label}", [row], "normally_terminated_non_optimal", total, within=0)
        for name, category in CLASSES.items():
            if (label, category) in counts:
                # 0.05 of a share of 86 episodes is 0.043 of an episode
                claim = f"{_words(name)} is its share of 4.3, {label}"
                yield of_rows("table_3", claim, [row], name, counts[label, category], within=0.043)


def _study_training() -> Iterator[Recomputation]:
    rows = {row["metric"]: row for row in _rows("table_5")}
    reasons = ("score_too_low", "repetitive_recovery_loop", "high_error_density")
    for contract in PAPER_CONTRACTS:
        value = {metric: row[contract] for metric, row in rows.items()}
        retained = value["retained"]
        processed = value["processed_until_cap"]
        computed = {
            "processed_until_cap": (retained + value["skipped_within_processed"], 0),
            "traces_available": (processed + value["unprocessed_due_to_cap"], 0),
            "skipped_within_processed": (sum(value[reason] for reason in reasons), 0),
            "retained_over_processed": (100 * retained / processed, 0.005),
            "retained_over_available": (100 * retained / value["traces_available"], 0.02),
            "mean_tokens": (value["total_tokens"] / retained, 0.006),
        }
        for metric, (recomputed, tolerance) in computed.items():
            claim = f"{_words(metric)}, {contract}"
            yield of_rows("table_5", claim, [rows[metric]], contract, recomputed, within=tolerance)


def _cave_benchmarks() -> Iterator[Recomputation]:
    """Yield Table 1's means and gains, and Table 2's repeats."""
    for row in _rows("cave_table_1"):
        where = f"{row['model']}, {row['domain']}"
        for arm in ("fc", "cave"):
            mean = sum(row[f"{arm}_run{run}"] for run in (1, 2, 3)) / 3
            yield of_rows("cave_table_1", f"mean of three runs, {arm}, {where}", [row], f"{arm}_avg", mean, within=0.1)
        gain = row["cave_avg"] - row["fc_avg"]
        yield of_rows("cave_table_1", f"gain, {where}", [row], "delta_published", gain, within=0.1)
    yield from _cave_function_calls()


def _cave_function_calls() -> Iterator[Recomputation]:
    """Yield Table 2's sums, mean shares over three runs, and gains."""
    file = "cave_table_2"
    shares: dict[Any, float] = {}
    for (model, arm), group in published_table(file).group_by("model", "arm", maintain_order=True):
        rows = group.rows(named=True)
        for row in rows:
            yield from _cave_sums(row, f"{model}, {arm}, {row['run']}")
        share = 100 * sum(row["overall_correct"] for row in rows) / sum(row["overall_total"] for row in rows)
        yield of_rows(file, f"mean share correct, {model}, {arm}", rows, "avg_pct_published", share, within=0.05)
        printed = rows[0]["avg_pct_published"]
        against = shares.setdefault(model, printed)
        if arm != "function_calling":
            claim = f"gain in mean share, {model}"
            yield of_rows(file, claim, rows, "avg_delta_published", printed - against, within=0.1)


def _cave_sums(row: dict[str, Any], where: str) -> Iterator[Recomputation]:
    for what, words in (("correct", "correct answers"), ("total", "questions")):
        total = sum(row[f"{kind}_{what}"] for kind in ("simple", "multiple", "parallel", "parallel_multiple"))
        yield of_rows("cave_table_2", f"{words} add up, {where}", [row], f"overall_{what}", total, within=0)


def _cave_states() -> Iterator[Recomputation]:
    """Yield Table 3's nearest possible shares, and means over conditions."""
    for (model, dimension), group in published_table("cave_table_3").group_by(
        "model", "dimension", maintain_order=True
    ):
        rows = group.rows(named=True)
        what = _words(str(dimension))
        for row in rows:
            if (points := row["n_points"]) is not None:
                nearest = 100 * round(row["success_pct"] * points / 100) / points
                claim = _words(f"share of {points} points, {what} {row['condition']}, {model}")
                yield of_rows("cave_table_3", claim, [row], "success_pct", nearest, within=0.05)
        mean = fmean(row["success_pct"] for row in rows if row["condition"] != "average")
        average = [row for row in rows if row["condition"] == "average"]
        yield of_rows(
            "cave_table_3", f"mean over conditions, {what}, {model}", average, "success_pct", mean, within=0.05
        )


def _cave_costs() -> Iterator[Recomputation]:
    """Yield token sums and changes of Tables 4 and 5, with gains."""
    rows = {row["metric"]: row for row in _rows("cave_table_4")}
    for arm in ("caveagent", "function_calling"):
        total = rows["prompt_tokens"][arm] + rows["completion_tokens"][arm]
        yield of_rows("cave_table_4", f"tokens add up, {arm}", [rows["total_tokens"]], arm, total, within=0)
    for metric, row in rows.items():
        ours = row["caveagent"]
        theirs = row["function_calling"]
        change = ours - theirs if row["change_unit"] == "points" else 100 * (ours / theirs - 1)
        yield of_rows("cave_table_4", f"change of {_words(metric)}", [row], "change_published", change, within=0.05)
    yield from _cave_data_tasks()


def _cave_data_tasks() -> Iterator[Recomputation]:
    """Yield Table 5's sums, and CaveAgent's gains over the best baseline.

    The best baseline is the one of most successes in one column, and of fewest tokens in the other.
    """
    for (category,), group in published_table("cave_table_5").group_by("task_category", maintain_order=True):
        rows = group.rows(named=True)
        for row in rows:
            claim = f"tokens add up, {category}, {row['method']}"
            total = row["prompt_tokens"] + row["completion_tokens"]
            yield of_rows("cave_table_5", claim, [row], "total_tokens", total, within=0)
        (own,) = [row for row in rows if row["method"] == "caveagent"]
        baselines = [row for row in rows if row["method"] != "caveagent"]
        most_successes = max(row["success_rate_pct"] for row in baselines)
        fewest_tokens = min(row["total_tokens"] for row in baselines)
        claim = f"gain over the best baseline, {category}"
        gain = own["success_rate_pct"] - most_successes
        yield of_rows("cave_table_5", claim, [own], "success_gain_published_points", gain, within=0.5)
        claim = f"tokens against the best baseline, {category}"
        change = 100 * (own["total_tokens"] / fewest_tokens - 1)
        yield of_rows("cave_table_5", claim, [own], "token_change_published_pct", change, within=0.5)


def _rows(file: str) -> list[dict[str, Any]]:
    return published_table(file).rows(named=True)


def _words(name: str) -> str:
    return name.replace("_", " ")
