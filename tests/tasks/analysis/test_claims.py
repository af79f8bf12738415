import re
from importlib.resources import files

import pytest
from pydantic import ValidationError

from tasks.analysis.claims import Recomputation, published_claims, published_table, recomputations
from tasks.traces.study_rows import ClaimRow

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
    assert Recomputation("S", "Table 2", "x", published, computed, 0.05).verdict == verdict


def test_score_per_1k_tokens_is_a_ratio_of_means():
    claim = recomputed("Table 2", "score per 1k tokens, P->P, easy")
    assert (claim.published, claim.recomputed, claim.verdict) == (4.13, pytest.approx(81.1 / 19.648), "holds")


def test_all_but_three_recomputed_values_hold():
    others = {
        (each.paper, each.place, each.claim): each.verdict for each in recomputations() if each.verdict != "holds"
    }
    assert others == {
        ("S", "Table 8", "difference P->P against S->S, hard"): "rounding",
        ("C", "Table 3", "share of 15 points, multi variable 5, Qwen3 Coder"): "inconsistent",
        ("C", "Table 5", "tokens against CodeAct, visualization"): "inconsistent",
    }


def test_every_claim_has_a_key_of_its_own_and_names_its_paper():
    claims = published_claims("run")
    assert len({(claim.paper, claim.claim, claim.place) for claim in claims}) == len(claims)
    assert {claim.paper for claim in claims} == {"arXiv 2603.01209", "arXiv 2601.01569"}


def test_a_share_is_the_nearest_that_so_many_points_give():
    claim = recomputed("Table 3", "share of 15 points, multi variable 5, Qwen3 Coder")
    assert (claim.published, claim.recomputed) == (94.4, pytest.approx(100 * 14 / 15))
    mean = recomputed("Table 3", "mean over conditions, multi turn, Gemini 3 Pro Preview")
    assert (mean.published, mean.recomputed, mean.verdict) == (98.7, 98.75, "holds")


def test_every_claim_has_a_tolerance_or_says_why_it_has_none():
    without = [claim for claim in published_claims("run") if claim.tolerance is None]
    assert {claim.no_tolerance_reason for claim in without} == {"words", "lost"}
    assert all(claim.note for claim in without)
    with pytest.raises(ValidationError, match="needs either a tolerance or a reason for having none"):
        ClaimRow.model_validate(without[0].model_dump() | {"no_tolerance_reason": None})


def test_errata_keep_their_tolerance_and_verdict():
    claim = next(each for each in published_claims("run") if each.claim == "tokens of S->P against P->P (Hard)")
    assert (claim.published, claim.recomputed, claim.tolerance, claim.verdict) == ("3.5", "2.94", 0.05, "inconsistent")


def test_a_whole_number_keeps_all_its_digits():
    claims = {claim.claim: claim for claim in published_claims("run") if claim.place == "Table 5"}
    total = claims["tokens add up, visualization, codeact_style"]
    assert (total.published, total.recomputed) == ("1000591", "1000591")  # 957,447 + 43,144


def test_every_table_of_both_papers_is_among_the_claims():
    claims = published_claims("run")
    for paper, prefix in (("arXiv 2603.01209", "table"), ("arXiv 2601.01569", "cave_table")):
        names = (file.name.removesuffix(".csv") for file in (files("sql") / "published").iterdir())
        numbers = {name.removeprefix(prefix) for name in names if name.startswith(prefix)}
        told = {match[1] for claim in claims if claim.paper == paper and (match := TABLE.fullmatch(claim.place))}
        assert numbers - told == set()


def test_a_mean_that_nothing_published_gives_is_unverifiable_with_half_its_last_digit_for_a_tolerance():
    claims = {claim.claim: claim for claim in study_claims("Table 1")}
    assert len(claims) == 7 * 2
    assert {(claim.verdict, claim.recomputed) for claim in claims.values()} == {("unverifiable", None)}
    tolerances = {
        "avg teacher optimality (fraction), persistent": ("0.671", 0.0005),
        "teacher success rate (percent), stateless": ("22.8", 0.05),
        "avg total tokens per episode (tokens), stateless": ("55516", 0.5),
    }
    assert {name: (claims[name].published, claims[name].tolerance) for name in tolerances} == tolerances


def test_every_call_and_every_signal_of_tables_4_and_6_has_a_verdict():
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
    signals = set(published_table("table6")["finish_signal"].drop_nulls()) | {"every other end"}
    assert set(verdicts["Table 6"]) == signals
