import pytest
from pydantic import ValidationError

from tasks.analysis.claims import Recomputation, published_claims, recomputations
from tasks.traces.study_rows import ClaimRow


def recomputed(place: str, claim: str) -> Recomputation:
    return next(each for each in recomputations() if (each.place, each.claim) == (place, claim))


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
