"""What the table of a night's verdicts shows in Prefect's UI."""

from carryover.flows.artifacts import verdict_cells
from carryover.tasks.traces.result_rows import NightVerdictRow
from tests.storage.conftest import build_row

CELL = {"model_name": "persistent-0", "runtime_contract": "stateless", "bucket": "small", "verdict": "regression"}
NOTHING = dict.fromkeys(
    ("mean_score", "baseline_mean_score", "token_ratio", "low", "high", "score_p_holm", "token_p_holm")
)


def test_verdict_shows_what_it_was_judged_by():
    row = build_row(
        NightVerdictRow, **CELL, baseline_run_id="study", pair_count=18, unpaired_count=2, identical_count=3,
        baseline_mean_score=0.9, mean_score=0.45678, token_ratio=1.2345, low=1.111, high=1.356, score_p_holm=0.0123,
        token_p_holm=0.5, differing=("server", "weights"), identity_json="{}",
    )  # fmt: skip
    assert verdict_cells(row) == {
        "cell": "persistent-0 on stateless, small",
        "verdict": "regression",
        "pairs": "18 of 20, 3 identical",
        "score": "0.900 → 0.457",
        "tokens": "× 1.23 [1.11, 1.36]",
        "p of score, tokens": "0.0123, 0.5000",
        "differs": "server, weights",
    }


def test_verdict_without_baseline_shows_dashes():
    row = build_row(NightVerdictRow, **{**CELL, **NOTHING}, baseline_run_id=None, differing=(), identity_json="{}")
    shown = verdict_cells(row)
    assert (shown["score"], shown["tokens"], shown["p of score, tokens"]) == ("-", "-", "-, -")
