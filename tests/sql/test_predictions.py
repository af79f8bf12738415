"""What decides the verdict on a prediction."""

import pytest

from tests.sql.hand_made import OURS


@pytest.mark.parametrize(("low", "verdict"), [(0.01, "refuted"), (-0.01, "not refuted")])
def test_missing_names_are_decided_by_interval_not_by_mcnemar(study, low, verdict):
    arms = {"train_a": "persistent", "train_b": "stateless", "runtime_a": "stateless", "runtime_b": "stateless"}
    both = {**arms, "comparison_group": "fixed_runtime", "metric": "has_missing_name"}
    study.episode("S->S", "i1", 0.5)
    study.statistic("difference", **both, low=low, high=0.9)
    study.statistic("mcnemar", **both, method="mcnemar exact, by hand", p_value=0.9 if low > 0 else 0.001)
    rows = [row for row in study.table("predictions") if row["measured_on"] == OURS["measured_on"]]
    assert [row["verdict"] for row in rows if row["prediction"] == 2] == [verdict]


def test_without_statistics_there_is_no_verdict_on_our_rows(study):
    ours = [row["verdict"] for row in study.table("predictions") if row["measured_on"] == OURS["measured_on"]]
    assert ours == ["no statistics"] * 3
