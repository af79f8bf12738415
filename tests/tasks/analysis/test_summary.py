import polars as pl
import pytest

from carryover.tasks.analysis.summary import findings, robust_findings, study_summary

SETTING = {
    "variant": "main",
    "base": "scratch",
    "visibility": "declared",
    "header": "names",
    "bucket": "small",
    "measured_on": "laptop, not Qwen3-8B",
    "seed_count": 3,
    "p_on_s_missing_name_pct": 100.0,
    "most_missing_name_pct_elsewhere": 1.0,
    "p_on_s_token_ratio": 2.0,
    "p_on_s_ended_token_ratio": 1.8,
    "s_on_p_token_ratio": 2.0,
    "s_on_s_token_ratio": 1.6,
    "interaction_ratio": 0.4,
    "interaction_ratio_low": 0.25,
    "interaction_ratio_high": 0.5,
    "script_p_on_s_token_ratio": None,
    "script_s_on_p_token_ratio": None,
    "script_s_on_s_token_ratio": None,
    "script_interaction_ratio": None,
    "no_verdict_reason": None,
    "no_pair_verdict_reason": None,
}
NOTHING = "No model has been trained and evaluated under the persistent and stateless contracts."
SCRIPTS = {
    "script_p_on_s_token_ratio": 2.12,
    "script_s_on_p_token_ratio": 2.25,
    "script_s_on_s_token_ratio": 2.17,
    "script_interaction_ratio": 0.455,
}
CELL = {
    "variant": "main",
    "base": "scratch",
    "visibility": "declared",
    "header": "names",
    "bucket": "small",
    "condition": "P->S",
    "mean_tokens": 8927.0,
    "mean_tokens_low": 8000.0,
    "mean_tokens_high": 9900.0,
    "median_tokens": 7451.0,
    "mean_tokens_of_ended": 8721.0,
    "episode_count": 300,
    "ended_count": 290,
    "missing_name_pct": 100.0,
    "score_pct": 94.1,
    "imports_per_step": 0.55,
    "state_utilization": 0.08,
    "token_ratio": 2.0,
    "token_ratio_low": 1.8,
    "token_ratio_high": 2.2,
}


def said(**changes):
    return findings(pl.DataFrame([SETTING | changes], infer_schema_length=None))


@pytest.mark.parametrize(
    ("seed_count", "kind"), [(1, "95 %, over instances"), (3, "95 %, the wider of two over 3 training seeds")]
)
def test_the_first_sentence_says_what_its_interval_is_over(seed_count, kind):
    assert f"[0.25, 0.50] ({kind})." in said(seed_count=seed_count)[0]


def test_the_first_sentence_holds_the_ratio_and_its_interval():
    first, *others = said()
    assert first.startswith("What a runtime costs depends on the runtime of training:")
    assert "by 2.00, of one trained without it by 0.80; the ratio of ratios is 0.40 [0.25, 0.50] (95 %" in first
    assert not any("One training seed" in sentence for sentence in others)


@pytest.mark.parametrize(
    ("low", "high", "depends"), [(0.5, 1.1, False), (0.5, 1.0, False), (1.0, 2.0, False), (1.1, 2.0, True)]
)
def test_an_interval_that_includes_1_shows_no_dependence(low, high, depends):
    first = said(interaction_ratio_low=low, interaction_ratio_high=high)[0]
    assert ("is not shown to depend" in first) is not depends


def test_p_on_s_never_stands_without_s_on_s():
    assert "Beside P→P's tokens, P→S costs 2.00 times, S→P 2.00 and S→S 1.60." in said()


def test_the_scripts_stand_beside_the_models():
    told = " ".join(said(**SCRIPTS))
    assert "give 2.12, 2.25 and 2.17 without any model, and a ratio of ratios of 0.46" in told
    assert "scripts" not in " ".join(said())


def test_a_setting_without_a_verdict_has_no_sentence_but_the_reason():
    both = dict.fromkeys(("no_verdict_reason", "no_pair_verdict_reason"), "smoke scale")
    assert said(**both) == ["No verdict: smoke scale."]


def test_pairs_that_did_not_end_leave_the_missing_names():
    assert said(no_pair_verdict_reason="0 pairs ended", interaction_ratio=None) == [
        "No verdict on tokens: 0 pairs ended.",
        "Episodes that miss a name: 100 % where state is dropped after training with it (P→S), "
        "at most 1 % in the other cells.",
    ]


@pytest.mark.parametrize("cell", ["p_on_s_missing_name_pct", "most_missing_name_pct_elsewhere"])
def test_cells_that_were_not_played_miss_no_names(cell):
    lacking = {"no_pair_verdict_reason": "0 pairs ended", "interaction_ratio": None, cell: None}
    assert said(**lacking) == ["No verdict on tokens: 0 pairs ended."]


def test_one_seed_is_named_as_a_limit():
    assert said(seed_count=1)[-1].startswith("One training seed:")


def test_without_an_interval_nothing_is_claimed():
    assert said(interaction_ratio_low=None) == ["The interaction of training and runtime has no interval yet."]


@pytest.mark.parametrize("width", [80, 100])
def test_a_summary_fits_one_screen(width):
    cells = [CELL | {"condition": condition} for condition in ("P->P", "P->S", "S->P", "S->S")]
    frames = {"mechanism": pl.DataFrame([SETTING | SCRIPTS]), "cells": pl.DataFrame(cells)}
    text = study_summary(lambda name: frames[name], width)
    lines = text.splitlines()
    assert max(map(len, lines)) <= width
    assert len(lines) <= 45
    for words in ("8,927 [8,000, 9,900]", "7,451", "8,721", "carryover report"):
        assert words in text


def test_medians_and_endless_episodes_stand_beside_the_means():
    counts = {"P->P": (4000.0, 100), "P->S": (8000.0, 98), "S->S": (9000.0, 100), "base->P": (1.0, 0)}
    rows = [
        CELL | {"condition": condition, "median_tokens": median, "episode_count": 100, "ended_count": ended}
        for condition, (median, ended) in counts.items()
    ]
    assert robust_findings(pl.DataFrame(rows)) == [
        "Median tokens over P→P's: 2.00 in P→S, 2.25 in S→S.",
        "Episodes without an end, which the limit of turns cut: 2 of 100 in P→S.",
    ]
    ended = [row | {"ended_count": 100, "median_tokens": None} for row in rows]
    assert robust_findings(pl.DataFrame(ended)) == []


def test_a_study_without_trained_models_says_so():
    empty = pl.DataFrame([SETTING]).clear()
    assert study_summary(lambda name: empty) == f"{NOTHING}\n"


def test_contracts_of_ones_own_alone_show_their_tokens():
    own = CELL | {"measured_on": "laptop, not Qwen3-8B", "condition": "recent-1->recent-3", "token_ratio": None}
    tables = {"mechanism": pl.DataFrame(), "cells": pl.DataFrame([own])}
    shown = study_summary(tables.__getitem__)
    assert NOTHING in " ".join(shown.split())
    assert "recent-1→recent-3" in shown
    assert "8,927" in shown
    assert "no episodes" not in shown
