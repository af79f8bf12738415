"""Published values, recomputed from their papers' own tables.

`sql/published/errata.csv` and `text_claims.csv` hold what needs a reader, Tables 4 and 6 among it; everything that is
arithmetic on a published table is recomputed, value by value. What nothing published gives is `unverifiable`.
"""

from collections.abc import Iterator

from carryover.tasks.analysis.published_tables import (
    METRICS,
    PRINTED,
    Cell,
    half_last_digit,
    printed_numbers,
    published_table,
)
from carryover.tasks.analysis.recomputed import recomputations
from carryover.tasks.traces.result_rows import ClaimRow

PAPERS = {"S": "arXiv 2603.01209", "C": "arXiv 2601.01569"}
"""Papers by the letter that the published tables use."""

READ = {
    Cell("table_2", "P->S, hard", "solved"): "exact solves P->S Hard",
    Cell("cave_table_1", "GPT-5.1, retail", "cave_run3"): "GPT-5.1 retail run 3",
}
"""Printed numbers that a claim of `errata.csv` or `text_claims.csv` is about, by that claim."""


def published_claims(run_id: str) -> list[ClaimRow]:
    """Return every published claim with its verdict.

    Errata, claims of the text, and each number of the published tables.
    """
    errata = published_table("errata", text=True).rows(named=True)
    claimed = published_table("text_claims", text=True).drop("unit", "source").rows(named=True)
    listed = [*errata, *({"paper": "S", **row} for row in claimed)]
    for value in recomputations():
        digits = ".0f" if float(value.recomputed).is_integer() else ".8g"  # all of a whole number, else eight
        texts = {"published": printed_numbers()[value.cells[0]], "recomputed": f"{value.recomputed:{digits}}"}
        named = {name: getattr(value, name) for name in ("paper", "claim", "place", "tolerance", "verdict")}
        listed.append(named | texts)
    for cell, printed in numbers_taken_as_printed():
        paper, place = PRINTED[cell.file]
        row = {"paper": paper, "place": place, "claim": claim_of_cell(cell), "published": printed, "recomputed": None}
        note = "taken as printed: what other numbers say of it, if any do, is a claim of theirs"
        listed.append(row | {"tolerance": half_last_digit(printed), "verdict": "unverifiable", "note": note})
    return [ClaimRow(run_id=run_id, **{**row, "paper": PAPERS[row["paper"]]}) for row in listed]


def numbers_taken_as_printed() -> Iterator[tuple[Cell, str]]:
    """Yield printed numbers that nothing recomputes, with their cells.

    No claim of a reader is about them either.
    """
    verified = set(READ).union(*(recomputation.cells for recomputation in recomputations()))
    return ((cell, printed) for cell, printed in printed_numbers().items() if cell not in verified)


def claim_of_cell(cell: Cell) -> str:
    """Return the claim that a number taken as printed makes, in words."""
    column = cell.column.removeprefix("n_").replace("_", " ")
    if cell.file in METRICS:
        return f"{cell.row}, {column}"
    return f"{column}, {cell.row}"
