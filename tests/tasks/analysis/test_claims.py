import re
from importlib.resources import files

import pytest
from pydantic import ValidationError

from carryover.tasks.analysis.claims import (
    READ,
    claim_of_cell,
    numbers_taken_as_printed,
    published_claims,
    recomputations,
)
from carryover.tasks.analysis.published_tables import (
    NOT_PRINTED,
    PRINTED,
    Cell,
    Recomputation,
    printed_cell,
    published_table,
)
from carryover.tasks.traces.result_rows import ClaimRow

TABLE = re.compile(r"Table (\d+)")


def recomputed(place: str, claim: str) -> Recomputation:
    return next(each for each in recomputations() if (each.place, each.claim) == (place, claim))


def study_claims(place: str) -> list[ClaimRow]:
    return [claim for claim in published_claims("run") if (claim.paper, claim.place) == ("arXiv 2603.01209", place)]


@pytest.mark.parametrize(
    ("published", "computed", "verdict"),
    [(1.0, 1.05, "holds"), (1.0, 1.1, "rounding"), (1.0, 1.11, "inconsistent"), (1.0, 0.89, "inconsistent")],
)
def test_a_verdict_follows_from_the_tolerance(published, computed, verdict):
    assert Recomputation("S", "Table 2", "x", published, computed, 0.05, ()).verdict == verdict


def test_score_per_1k_tokens_is_a_ratio_of_means():
    claim = recomputed("Table 2", "score per 1k tokens, P->P, easy")
    assert (claim.published, claim.recomputed, claim.verdict) == (4.13, pytest.approx(81.1 / 19.648), "holds")


def test_all_but_two_recomputed_values_hold():
    others = {
        (each.paper, each.place, each.claim): each.verdict for each in recomputations() if each.verdict != "holds"
    }
    assert others == {
        ("S", "Table 8", "difference P->P against S->S, hard"): "rounding",
        ("C", "Table 3", "share of 15 points, multi variable 5, Qwen3 Coder"): "inconsistent",
    }


def test_claim_keys_are_unique_and_name_the_paper():
    claims = published_claims("run")
    assert len({(claim.paper, claim.claim, claim.place) for claim in claims}) == len(claims)
    assert {claim.paper for claim in claims} == {"arXiv 2603.01209", "arXiv 2601.01569"}


def test_a_share_is_the_nearest_that_so_many_points_give():
    claim = recomputed("Table 3", "share of 15 points, multi variable 5, Qwen3 Coder")
    assert (claim.published, claim.recomputed) == (94.4, pytest.approx(100 * 14 / 15))
    mean = recomputed("Table 3", "mean over conditions, multi turn, Gemini 3 Pro Preview")
    assert (mean.published, mean.recomputed, mean.verdict) == (98.7, 98.75, "holds")


def test_every_claim_has_a_tolerance_or_a_reason_for_none():
    without = [claim for claim in published_claims("run") if claim.tolerance is None]
    assert {claim.no_tolerance_reason for claim in without} == {"words", "lost"}
    assert all(claim.note for claim in without)
    with pytest.raises(ValidationError, match="needs either a tolerance or a reason for having none"):
        ClaimRow.model_validate(without[0].model_dump() | {"no_tolerance_reason": None})


def test_data_tasks_are_compared_with_the_best_baseline():
    change = recomputed("Table 5", "tokens against the best baseline, visualization")
    assert (change.published, change.recomputed) == (-39, pytest.approx(100 * (405105 / 662677 - 1)))
    gain = recomputed("Table 5", "gain over the best baseline, visualization")
    assert (gain.published, gain.recomputed) == (50, 90 - 40)
    assert {change.verdict, gain.verdict} == {"holds"}


def test_errata_name_what_no_table_shows():
    claims = {claim.claim: claim for claim in published_claims("run")}
    easy = claims["episodes with unresolved reference errors P->S (Easy)"]
    assert (easy.published, easy.recomputed, easy.verdict) == ("80", None, "unverifiable")
    lower = claims["stateless training gives directionally lower solution quality"]
    assert lower.verdict == "partly holds"
    assert lower.recomputed == "Easy: S->S 82.0 above P->P 81.1; Hard: 67.7 below 75.4"


def test_errata_keep_their_tolerance_and_verdict():
    claim = next(each for each in published_claims("run") if each.claim == "tokens of S->P against P->P (Hard)")
    assert (claim.published, claim.recomputed, claim.tolerance, claim.verdict) == ("3.5", "2.94", 0.05, "inconsistent")


def test_a_whole_number_keeps_all_its_digits():
    claims = {claim.claim: claim for claim in published_claims("run") if claim.place == "Table 5"}
    total = claims["tokens add up, visualization, codeact_style"]
    assert (total.published, total.recomputed) == ("1000591", "1000591")  # 957,447 + 43,144


def test_every_table_of_both_papers_is_among_the_claims():
    claims = published_claims("run")
    for paper, prefix in (("arXiv 2603.01209", "table_"), ("arXiv 2601.01569", "cave_table_")):
        names = (file.name.removesuffix(".csv") for file in (files("carryover.sql") / "published").iterdir())
        numbers = {name.removeprefix(prefix) for name in names if name.startswith(prefix)}
        told = {match[1] for claim in claims if claim.paper == paper and (match := TABLE.fullmatch(claim.place))}
        assert numbers - told == set()


def test_every_published_number_has_exactly_one_claim():
    told = {(claim.place, claim.claim): claim.published for claim in published_claims("run")}
    names = {claim for _, claim in told}
    recomputed = {cell: (each.place, each.claim) for each in recomputations() for cell in each.cells}
    taken = {cell: (PRINTED[cell.file][1], claim_of_cell(cell)) for cell, _ in numbers_taken_as_printed()}
    for file in PRINTED:
        frame = published_table(file)
        for row in frame.rows(named=True):
            for column, value in row.items():
                if not isinstance(value, int | float) or column in NOT_PRINTED.get(file, ()):
                    continue
                cell = printed_cell(file, row, column)
                claims = [claims[cell] for claims in (recomputed, taken) if cell in claims]
                if cell in READ:
                    assert (claims, READ[cell] in names) == ([], True)
                else:
                    assert [float(told[claim] or "nan") for claim in claims] == [value], cell


def test_every_published_file_is_accounted_for():
    names = {file.name.removesuffix(".csv") for file in (files("carryover.sql") / "published").iterdir()}
    assert names - set(PRINTED) == {"errata", "text_claims", "table_4", "table_6", "terminations_derived"}
    told = {(claim.claim, claim.place) for claim in published_claims("run")}
    for name in ("errata", "text_claims"):
        assert set(published_table(name).select("claim", "place").iter_rows()) <= told
    solved = {row["solved"] for row in published_table("table_2").rows(named=True)}
    for row in published_table("terminations_derived").rows(named=True):
        shown = (row["solved"], row["normally_terminated_non_optimal"], row["not_normally_terminated_unsolved"])
        assert (sum(shown), shown[0] in solved) == (100, True)


@pytest.mark.parametrize(
    ("cell", "place", "claim", "published", "tolerance"),
    [
        (Cell("table_2", "base->P, hard", "mean_steps"), "Table 2", "mean steps, base->P, hard", "30.34", 0.005),
        (Cell("table_5", "min tokens (tokens)", "stateless"), "Table 5", "min tokens (tokens), stateless", "5235", 0.5),
        (Cell("table_9", "S->S, easy", "context_lifespan"), "Table 9", "context lifespan, S->S, easy", "2.99", 0.005),
    ],
)
def test_a_number_that_nothing_gives_is_taken_as_printed(cell, place, claim, published, tolerance):
    assert dict(numbers_taken_as_printed())[cell] == published
    row = next(each for each in study_claims(place) if each.claim == claim)
    assert (row.published, row.recomputed, row.tolerance, row.verdict) == (published, None, tolerance, "unverifiable")


def test_tables_2_and_3_are_compared_with_other_places():
    score = recomputed("Table 2", "score is the mean of Tables 7 and 8, P->S, hard")
    assert (score.published, score.recomputed, score.verdict) == (68.2, 68.21, "holds")
    steps = recomputed("Table 2", "steps are the turns of Tables 9 and 10, P->S, hard")
    assert (steps.published, steps.recomputed, steps.verdict) == (6.92, 6.92, "holds")
    share = recomputed("Table 3", "execution instability is its share of 4.3, P->S, hard")
    assert (share.published, share.recomputed, share.verdict) == (49, pytest.approx(0.57 * 86), "holds")


def test_an_unverifiable_mean_has_half_its_last_digit_as_tolerance():
    claims = {claim.claim: claim for claim in study_claims("Table 1")}
    assert len(claims) == 7 * 2
    assert {(claim.verdict, claim.recomputed) for claim in claims.values()} == {("unverifiable", None)}
    tolerances = {
        "avg teacher optimality (fraction), persistent": ("0.671", 0.0005),
        "teacher success rate (percent), stateless": ("22.8", 0.05),
        "avg total tokens per episode (tokens), stateless": ("55516", 0.5),
    }
    assert {name: (claims[name].published, claims[name].tolerance) for name in tolerances} == tolerances


def test_calls_and_signals_of_tables_4_and_6_have_verdicts():
    verdicts = {
        place: {re.split(": | ends", claim.claim)[0]: claim.verdict for claim in study_claims(place)}
        for place in ("Table 4", "Table 6")
    }
    assert verdicts["Table 4"] == {
        "list_items": "holds",
        "inspect": "holds",
        "take_item": "incomplete",
        "finish": "holds",
    }
    held = {"max_turns", "error", "finish_tool"}
    assert {signal for signal, verdict in verdicts["Table 6"].items() if verdict == "holds"} == held
    signals = set(published_table("table_6")["finish_signal"].drop_nulls()) | {"every other end"}
    assert set(verdicts["Table 6"]) == signals
