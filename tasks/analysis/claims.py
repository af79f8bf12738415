"""Published values of both papers, recomputed from their own tables, as rows of `claims`.

`sql/published/errata.csv` and `text_claims.csv` hold what needs a reader, Tables 4 and 6 among it; everything that is
arithmetic on a published table is recomputed here, value by value. What nothing published gives is `unverifiable`.
"""

from collections.abc import Iterator
from importlib.resources import files
from typing import Any, Literal, NamedTuple

import numpy as np
import polars as pl

from tasks.traces.study_rows import ClaimRow

PAPERS = {"S": "arXiv 2603.01209", "C": "arXiv 2601.01569"}
"""Papers by the letter that the published tables use."""

FLOAT_SLACK = 1e-9
"""Binary fractions: 0.1 printed is not 0.1 computed."""


class Recomputation(NamedTuple):
    """A published number and what its table gives for it."""

    paper: Literal["S", "C"]
    place: str
    claim: str
    published: float
    recomputed: float
    tolerance: float
    """Half a unit of the last printed digit, or what the rounding of the inputs allows."""

    @property
    def verdict(self) -> Literal["holds", "rounding", "inconsistent"]:
        """`holds` within the tolerance, `rounding` within twice that, `inconsistent` beyond."""
        error = abs(self.published - self.recomputed)
        if error <= self.tolerance + FLOAT_SLACK:
            return "holds"
        return "rounding" if error <= 2 * self.tolerance + FLOAT_SLACK else "inconsistent"


def published_claims(run_id: str) -> list[ClaimRow]:
    """Return every claim with its verdict: errata, claims of the text, and recomputed table values."""
    errata = published_table("errata", text=True).rows(named=True)
    told = published_table("text_claims", text=True).drop("unit", "source").rows(named=True)
    listed = [*errata, *({"paper": "S", **row} for row in told)]
    return [
        *(ClaimRow(run_id=run_id, **{**row, "paper": PAPERS[row["paper"]]}) for row in listed),
        *_teachers_means(run_id),
        *(_claim_row(recomputed, run_id) for recomputed in recomputations()),
    ]


def recomputations() -> list[Recomputation]:
    """Return every published table value that follows from others, with its recomputation."""
    return [
        *_table_2(),
        *_table_3(),
        *_table_5(),
        *_tables_7_and_8(),
        *_tables_9_and_10(),
        *_failure_percentages(),
        *_cave_table_1(),
        *_cave_table_2(),
        *_cave_table_3(),
        *_cave_table_4(),
        *_cave_table_5(),
    ]


def published_table(name: str, *, text: bool = False) -> pl.DataFrame:
    """Return a table of `sql/published`; with `text`, every column but a `tolerance` as it is printed."""
    source = (files("sql") / "published" / f"{name}.csv").read_bytes()
    if not text:
        return pl.read_csv(source)
    frame = pl.read_csv(source, infer_schema=False)
    return frame.with_columns(pl.col("^tolerance$").cast(pl.Float64))


def _claim_row(recomputation: Recomputation, run_id: str) -> ClaimRow:
    return ClaimRow(
        run_id=run_id,
        paper=PAPERS[recomputation.paper],
        claim=recomputation.claim,
        place=recomputation.place,
        published=_digits(recomputation.published),
        recomputed=_digits(recomputation.recomputed),
        tolerance=recomputation.tolerance,
        verdict=recomputation.verdict,
    )


def _digits(value: float) -> str:
    """Return a whole number with all its digits, any other to six."""
    return f"{value:.0f}" if float(value).is_integer() else f"{value:.6g}"


def _teachers_means(run_id: str) -> Iterator[ClaimRow]:
    """Yield the values of Table 1: means over traces of which no other table says anything."""
    for row in published_table("table1", text=True).rows(named=True):
        for contract in ("persistent", "stateless"):
            printed = row[contract]
            yield ClaimRow(
                run_id=run_id,
                paper=PAPERS["S"],
                claim=f"{row['metric'].replace('_', ' ')} ({row['unit']}), {contract}",
                place="Table 1",
                published=printed,
                recomputed=None,
                tolerance=10.0 ** -len(printed.partition(".")[2]) / 2,
                verdict="unverifiable",
                note="a mean over the teachers' traces, of which no other table says anything",
            )


def _table_2() -> Iterator[Recomputation]:
    for row in published_table("table2").rows(named=True):
        computed = row["score_pct"] / (row["mean_total_tokens"] / 1000)
        yield Recomputation(
            "S", "Table 2", f"score per 1k tokens, {_cell(row)}", row["score_per_1k_tokens"], computed, 0.005
        )


def _table_3() -> Iterator[Recomputation]:
    classes = ("constraint_or_protocol_violation", "execution_instability", "silent_suboptimality")
    for row in published_table("table3").rows(named=True):
        total = sum(row[name] for name in classes)
        published = row["normally_terminated_non_optimal"]
        yield Recomputation("S", "Table 3", f"classes add up, {_cell(row)}", published, total, 0)


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
            yield Recomputation("S", "Table 5", claim, value[metric], recomputed, tolerance)


def _tables_7_and_8() -> Iterator[Recomputation]:
    printed = {
        (row["split"], row["train_semantics"] or "base", row["runtime_semantics"]): row["score_pct"]
        for row in published_table("table2").rows(named=True)
    }
    for number in (7, 8):
        means: dict[tuple[str, str, str], float] = {}
        for row in published_table(f"table{number}").rows(named=True):
            a, b = ((row["split"], row[f"train_{arm}"], row[f"runtime_{arm}"]) for arm in "ab")
            means |= {a: row["mean_a"], b: row["mean_b"]}
            if row["delta_published"] is not None:
                claim = f"difference {_arm(a)} against {_arm(b)}, {row['split']}"
                computed = row["mean_a"] - row["mean_b"]
                yield Recomputation("S", f"Table {number}", claim, row["delta_published"], computed, 0.005)
        for key, mean in means.items():
            claim = f"mean of {_arm(key)} is that of Table 2, {key[0]}"
            yield Recomputation("S", f"Table {number}", claim, mean, printed[key], 0.05)


def _tables_9_and_10() -> Iterator[Recomputation]:
    steps = {_cell(row): row["n_tasks"] * row["mean_steps"] for row in published_table("table2").rows(named=True)}
    for number in (9, 10):
        for row in published_table(f"table{number}").rows(named=True):
            claim = f"total turns are those of Table 2, {_cell(row)}"
            yield Recomputation("S", f"Table {number}", claim, row["total_turns"], steps[_cell(row)], 0.5)


def _failure_percentages() -> Iterator[Recomputation]:
    for row in published_table("failure_analysis").rows(named=True):
        claim = f"share of unsolved: {row['category'].replace('_', ' ')}, {_cell(row)}"
        computed = 100 * row["count_recomputed"] / row["denominator_unsolved"]
        yield Recomputation("S", "4.3", claim, row["pct_of_unsolved_published"], computed, 0.05)


def _cave_table_1() -> Iterator[Recomputation]:
    for row in published_table("cave_table1").rows(named=True):
        where = f"{row['model']}, {row['domain']}"
        for arm in ("fc", "cave"):
            mean = sum(row[f"{arm}_run{run}"] for run in (1, 2, 3)) / 3
            yield Recomputation("C", "Table 1", f"mean of three runs, {arm}, {where}", row[f"{arm}_avg"], mean, 0.1)
        computed = row["cave_avg"] - row["fc_avg"]
        yield Recomputation("C", "Table 1", f"gain, {where}", row["delta_published"], computed, 0.1)


def _cave_table_2() -> Iterator[Recomputation]:
    kinds = ("simple", "multiple", "parallel", "parallel_multiple")
    frame = published_table("cave_table2")
    for row in frame.rows(named=True):
        where = f"{row['model']}, {row['arm']}, {row['run']}"
        total = sum(row[f"{kind}_correct"] for kind in kinds)
        yield Recomputation("C", "Table 2", f"correct answers add up, {where}", row["overall_correct"], total, 0)
    for row in frame.group_by("model", "arm", maintain_order=True).agg(pl.all()).rows(named=True):
        share = 100 * sum(row["overall_correct"]) / sum(row["overall_total"])
        claim = f"mean share correct, {row['model']}, {row['arm']}"
        yield Recomputation("C", "Table 2", claim, row["avg_pct_published"][0], share, 0.05)


def _cave_table_3() -> Iterator[Recomputation]:
    """Yield the nearest share that so many points can give, and the means over conditions."""
    frame = published_table("cave_table3")
    for row in frame.filter(pl.col("n_points").is_not_null()).rows(named=True):
        points = row["n_points"]
        nearest = 100 * round(row["success_pct"] * points / 100) / points
        claim = f"share of {points} points, {row['dimension'].replace('_', ' ')} {row['condition']}, {row['model']}"
        yield Recomputation("C", "Table 3", claim.replace("_", " "), row["success_pct"], nearest, 0.05)
    for (model, dimension), group in frame.group_by("model", "dimension", maintain_order=True):
        is_average = group["condition"] == "average"
        published = group.filter(is_average)["success_pct"].item()
        mean = float(np.mean(group.filter(~is_average)["success_pct"].to_numpy()))
        claim = f"mean over conditions, {str(dimension).replace('_', ' ')}, {model}"
        yield Recomputation("C", "Table 3", claim, published, mean, 0.05)


def _cave_table_4() -> Iterator[Recomputation]:
    rows = {row["metric"]: row for row in published_table("cave_table4").rows(named=True)}
    for arm in ("caveagent", "function_calling"):
        total = rows["prompt_tokens"][arm] + rows["completion_tokens"][arm]
        yield Recomputation("C", "Table 4", f"tokens add up, {arm}", rows["total_tokens"][arm], total, 0)
    for metric, row in rows.items():
        ours, theirs = row["caveagent"], row["function_calling"]
        change = ours - theirs if row["change_unit"] == "points" else 100 * (ours / theirs - 1)
        yield Recomputation(
            "C", "Table 4", f"change of {metric.replace('_', ' ')}", row["change_published"], change, 0.05
        )


def _cave_table_5() -> Iterator[Recomputation]:
    rows = {(row["task_category"], row["method"]): row for row in published_table("cave_table5").rows(named=True)}
    for (category, method), row in rows.items():
        total = row["prompt_tokens"] + row["completion_tokens"]
        yield Recomputation("C", "Table 5", f"tokens add up, {category}, {method}", row["total_tokens"], total, 0)
    for (category, method), row in rows.items():
        if method == "caveagent":
            against = rows[category, "codeact_style"]
            gain = row["success_rate_pct"] - against["success_rate_pct"]
            change = 100 * (row["total_tokens"] / against["total_tokens"] - 1)
            yield Recomputation(
                "C", "Table 5", f"gain over CodeAct, {category}", row["success_gain_published_points"], gain, 0.5
            )
            yield Recomputation(
                "C", "Table 5", f"tokens against CodeAct, {category}", row["token_change_published_pct"], change, 0.5
            )


def _cell(row: dict[str, Any]) -> str:
    return f"{_arm((row['split'], row['train_semantics'] or 'base', row['runtime_semantics']))}, {row['split']}"


def _arm(key: tuple[str, str, str]) -> str:
    letters = {"persistent": "P", "stateless": "S"}
    return f"{letters.get(key[1], key[1])}->{letters[key[2]]}"
