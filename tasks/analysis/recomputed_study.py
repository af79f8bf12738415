"""Numbers of the study's tables that follow from others, recomputed."""

from collections.abc import Iterator
from typing import Any, Literal

from carryover.tasks.analysis.published_tables import (
    Cell,
    Recomputation,
    arm_label,
    cell_label,
    of_row,
    printed_cell,
    published_table,
)

Arm = tuple[str, str, str]
"""Split, training contract or `base`, runtime contract."""

CLASSES = {
    "constraint_or_protocol_violation": "protocol_or_sequencing_violation",
    "execution_instability": "cascading_execution_failure",
    "silent_suboptimality": "silent_suboptimality",
}
"""Table 3's failure classes, with the names that section 4.3 gives their shares."""


def study_recomputations() -> Iterator[Recomputation]:
    """Yield every number of the study's tables that follows from others."""
    yield from _table_2()
    yield from _table_3()
    yield from _table_5()
    yield from _tables_7_and_8()
    yield from _tables_9_and_10()
    yield from _failure_percentages()


def _table_2() -> Iterator[Recomputation]:
    means = {arm: mean for number in (7, 8) for arm, (mean, _) in _means(number).items()}
    turns = {
        cell_label(row): row["total_turns"]
        for number in (9, 10)
        for row in published_table(f"table{number}").rows(named=True)
    }
    for row in published_table("table2").rows(named=True):
        label = cell_label(row)
        computed = row["score_pct"] / (row["mean_total_tokens"] / 1000)
        yield of_row("table2", f"score per 1k tokens, {label}", row, "score_per_1k_tokens", computed, tolerance=0.005)
        yield of_row(
            "table2",
            f"score is the mean of Tables 7 and 8, {label}",
            row,
            "score_pct",
            means[_arm(row)],
            tolerance=0.05,
        )
        if label in turns:
            steps = turns[label] / row["n_tasks"]
            yield of_row(
                "table2", f"steps are the turns of Tables 9 and 10, {label}", row, "mean_steps", steps, tolerance=0.005
            )


def _table_3() -> Iterator[Recomputation]:
    counts = {
        (cell_label(row), row["category"]): row["pct_of_unsolved_published"] / 100 * row["denominator_unsolved"]
        for row in published_table("failure_analysis").rows(named=True)
    }
    for row in published_table("table3").rows(named=True):
        label, total = cell_label(row), sum(row[name] for name in CLASSES)
        yield of_row("table3", f"classes add up, {label}", row, "normally_terminated_non_optimal", total, tolerance=0)
        for name, category in CLASSES.items():
            if (label, category) in counts:
                claim = f"{name.replace('_', ' ')} is its share of 4.3, {label}"
                # 0.05 of a share of 86 episodes is 0.043 of an episode
                yield of_row("table3", claim, row, name, counts[label, category], tolerance=0.043)


def _table_5() -> Iterator[Recomputation]:
    rows = {row["metric"]: row for row in published_table("table5").rows(named=True)}
    reasons = ("score_too_low", "repetitive_recovery_loop", "high_error_density")
    for contract in ("persistent", "stateless"):
        value = {metric: row[contract] for metric, row in rows.items()}
        retained, processed, available = (
            value[name] for name in ("retained", "processed_until_cap", "traces_available")
        )
        computed = {
            "processed_until_cap": (retained + value["skipped_within_processed"], 0),
            "traces_available": (processed + value["unprocessed_due_to_cap"], 0),
            "skipped_within_processed": (sum(value[reason] for reason in reasons), 0),
            "retained_over_processed": (100 * retained / processed, 0.005),
            "retained_over_available": (100 * retained / available, 0.02),
            "mean_tokens": (value["total_tokens"] / retained, 0.006),
        }
        for metric, (recomputed, tolerance) in computed.items():
            claim = f"{metric.replace('_', ' ')}, {contract}"
            yield of_row("table5", claim, rows[metric], contract, recomputed, tolerance=tolerance)


def _tables_7_and_8() -> Iterator[Recomputation]:
    printed = {_arm(row): row["score_pct"] for row in published_table("table2").rows(named=True)}
    for number in (7, 8):
        file, place = f"table{number}", f"Table {number}"
        for row in published_table(file).rows(named=True):
            if row["delta_published"] is not None:
                a, b = (arm_label(row[f"train_{arm}"], row[f"runtime_{arm}"]) for arm in "ab")
                claim = f"difference {a} against {b}, {row['split']}"
                computed = row["mean_a"] - row["mean_b"]
                yield of_row(file, claim, row, "delta_published", computed, tolerance=0.005)
        for arm, (mean, cells) in _means(number).items():
            claim = f"mean of {arm_label(*arm[1:])} is that of Table 2, {arm[0]}"
            yield Recomputation("S", place, claim, mean, printed[arm], 0.05, tuple(cells))


def _means(number: Literal[7, 8]) -> dict[Arm, tuple[float, list[Cell]]]:
    """Return the mean of every arm of Table 7 or 8, and all the cells that print it."""
    file = f"table{number}"
    means: dict[Arm, tuple[float, list[Cell]]] = {}
    for row in published_table(file).rows(named=True):
        for side in "ab":
            arm = (row["split"], row[f"train_{side}"], row[f"runtime_{side}"])
            _, cells = means.setdefault(arm, (row[f"mean_{side}"], []))
            cells.append(printed_cell(file, row, f"mean_{side}"))
    return means


def _tables_9_and_10() -> Iterator[Recomputation]:
    steps = {cell_label(row): row["n_tasks"] * row["mean_steps"] for row in published_table("table2").rows(named=True)}
    for number in (9, 10):
        for row in published_table(f"table{number}").rows(named=True):
            claim = f"total turns are those of Table 2, {cell_label(row)}"
            computed = steps[cell_label(row)]
            yield of_row(f"table{number}", claim, row, "total_turns", computed, tolerance=0.5)


def _failure_percentages() -> Iterator[Recomputation]:
    for row in published_table("failure_analysis").rows(named=True):
        claim = f"share of unsolved: {row['category'].replace('_', ' ')}, {cell_label(row)}"
        computed = 100 * row["count_recomputed"] / row["denominator_unsolved"]
        yield of_row("failure_analysis", claim, row, "pct_of_unsolved_published", computed, tolerance=0.05)


def _arm(row: dict[str, Any]) -> Arm:
    return (row["split"], row["train_semantics"] or "base", row["runtime_semantics"])
