"""Numbers of CaveAgent's tables that follow from others, recomputed."""

from collections.abc import Iterator

import numpy as np
import polars as pl

from carryover.tasks.analysis.published_tables import Recomputation, of_row, of_rows, published_table


def cave_recomputations() -> Iterator[Recomputation]:
    """Yield every number of CaveAgent's tables that follows from others."""
    yield from _table_1()
    yield from _table_2_sums()
    yield from _table_2_shares()
    yield from _table_3()
    yield from _table_4()
    yield from _table_5()


def _table_1() -> Iterator[Recomputation]:
    for row in published_table("cave_table1").rows(named=True):
        where = f"{row['model']}, {row['domain']}"
        for arm in ("fc", "cave"):
            mean = sum(row[f"{arm}_run{run}"] for run in (1, 2, 3)) / 3
            yield of_row("cave_table1", f"mean of three runs, {arm}, {where}", row, f"{arm}_avg", mean, tolerance=0.1)
        yield of_row(
            "cave_table1", f"gain, {where}", row, "delta_published", row["cave_avg"] - row["fc_avg"], tolerance=0.1
        )


def _table_2_sums() -> Iterator[Recomputation]:
    kinds = ("simple", "multiple", "parallel", "parallel_multiple")
    for row in published_table("cave_table2").rows(named=True):
        where = f"{row['model']}, {row['arm']}, {row['run']}"
        for what, claim in (("correct", "correct answers add up"), ("total", "questions add up")):
            total = sum(row[f"{kind}_{what}"] for kind in kinds)
            yield of_row("cave_table2", f"{claim}, {where}", row, f"overall_{what}", total, tolerance=0)


def _table_2_shares() -> Iterator[Recomputation]:
    """Yield the mean share of every model's arm over its three runs, and the gain over function calling."""
    shares: dict[str, float] = {}
    for (model, arm), group in published_table("cave_table2").group_by("model", "arm", maintain_order=True):
        rows = group.rows(named=True)
        share = 100 * sum(row["overall_correct"] for row in rows) / sum(row["overall_total"] for row in rows)
        yield of_rows(
            "cave_table2", f"mean share correct, {model}, {arm}", rows, "avg_pct_published", share, tolerance=0.05
        )
        if arm == "function_calling":
            shares[str(model)] = rows[0]["avg_pct_published"]
        else:
            gain = rows[0]["avg_pct_published"] - shares[str(model)]
            yield of_rows(
                "cave_table2", f"gain in mean share, {model}", rows, "avg_delta_published", gain, tolerance=0.1
            )


def _table_3() -> Iterator[Recomputation]:
    """Yield the nearest share that so many points can give, and the means over conditions."""
    frame = published_table("cave_table3")
    for row in frame.filter(pl.col("n_points").is_not_null()).rows(named=True):
        points = row["n_points"]
        nearest = 100 * round(row["success_pct"] * points / 100) / points
        claim = f"share of {points} points, {row['dimension'].replace('_', ' ')} {row['condition']}, {row['model']}"
        yield of_row("cave_table3", claim.replace("_", " "), row, "success_pct", nearest, tolerance=0.05)
    for (model, dimension), group in frame.group_by("model", "dimension", maintain_order=True):
        is_average = group["condition"] == "average"
        mean = float(np.mean(group.filter(~is_average)["success_pct"].to_numpy()))
        claim = f"mean over conditions, {str(dimension).replace('_', ' ')}, {model}"
        yield of_rows(
            "cave_table3", claim, group.filter(is_average).rows(named=True), "success_pct", mean, tolerance=0.05
        )


def _table_4() -> Iterator[Recomputation]:
    rows = {row["metric"]: row for row in published_table("cave_table4").rows(named=True)}
    for arm in ("caveagent", "function_calling"):
        total = rows["prompt_tokens"][arm] + rows["completion_tokens"][arm]
        yield of_row("cave_table4", f"tokens add up, {arm}", rows["total_tokens"], arm, total, tolerance=0)
    for metric, row in rows.items():
        ours, theirs = row["caveagent"], row["function_calling"]
        change = ours - theirs if row["change_unit"] == "points" else 100 * (ours / theirs - 1)
        yield of_row(
            "cave_table4", f"change of {metric.replace('_', ' ')}", row, "change_published", change, tolerance=0.05
        )


def _table_5() -> Iterator[Recomputation]:
    rows = {(row["task_category"], row["method"]): row for row in published_table("cave_table5").rows(named=True)}
    for (category, method), row in rows.items():
        total = row["prompt_tokens"] + row["completion_tokens"]
        yield of_row("cave_table5", f"tokens add up, {category}, {method}", row, "total_tokens", total, tolerance=0)
    for (category, method), row in rows.items():
        if method == "caveagent":
            against = rows[category, "codeact_style"]
            gain = row["success_rate_pct"] - against["success_rate_pct"]
            change = 100 * (row["total_tokens"] / against["total_tokens"] - 1)
            yield of_row(
                "cave_table5",
                f"gain over CodeAct, {category}",
                row,
                "success_gain_published_points",
                gain,
                tolerance=0.5,
            )
            yield of_row(
                "cave_table5",
                f"tokens against CodeAct, {category}",
                row,
                "token_change_published_pct",
                change,
                tolerance=0.5,
            )
