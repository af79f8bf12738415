"""The script control: trained cells beside the scripts that wrote their traces."""

import pytest

from tests.sql.hand_made import add_pairs

SETTING = {"comparison_group": "trained_vs_script", "base": "common", "metric": "total_tokens"}


@pytest.fixture
def study(warehouse):
    """P->P and P->S on two instances, by a model and by the persistent script."""
    warehouse.run()
    for cell, tokens, missed in (("P->P", 1000, 0), ("P->S", 3000, 1)):
        for number in (1, 2):
            shown = {"instance_id": f"i{number}", "score": 0.5 * number, "prompt_tokens": tokens - 100}
            model = warehouse.episode(cell, **shown, completion_tokens=100)
            values = {"base": "teacher", "training_seed": None, "completion_tokens": 100 * number}
            script = warehouse.episode(cell, **shown, **values)
            for _ in range(missed):
                for episode in (model, script):
                    warehouse.error(episode, 1, "NameError: name 'x' is not defined")
    return warehouse


def _rows(study, metric):
    rows = [row for row in study.table("script_control") if row["metric"] == metric]
    return {row["condition"]: row for row in rows}


def test_script_control_sets_scripts_beside_each_trained_cell(study):
    tokens = _rows(study, "total_tokens")
    assert {name: (row["trained"], row["script"]) for name, row in tokens.items()} == {
        "P->P": (1000, 1050),
        "P->S": (3000, 3050),
    }
    assert tokens["P->S"]["trained_minus_script"] == -50
    assert tokens["P->S"]["trained_ratio_to_p_on_p"] == 3
    assert tokens["P->S"]["script_ratio_to_p_on_p"] == pytest.approx(3050 / 1050)
    assert {(row["pair_count"], row["equal_pct"]) for row in tokens.values()} == {(2, 100)}
    missed = _rows(study, "missing_name_count")
    assert (missed["P->S"]["trained"], missed["P->S"]["script"]) == (1, 1)


def test_script_control_has_the_wider_interval_of_the_difference(study):
    cell = {"train_a": "persistent", "runtime_a": "stateless", "train_b": "script persistent", "runtime_b": "stateless"}
    study.statistic("trained_minus_script", **SETTING, **cell, low=-60.0, high=-40.0)
    kind = "t over seeds"
    study.statistic("trained_minus_script", **SETTING, **cell, low=-90.0, high=10.0, method=kind, interval_kind=kind)
    row = _rows(study, "total_tokens")["P->S"]
    assert (row["trained_minus_script_low"], row["trained_minus_script_high"]) == (-90, 10)


def test_scripts_of_another_variant_stand_beside_no_cell(study):
    study.episode("P->P", "i1", 0.5, variant="half-training", prompt_tokens=1900, completion_tokens=100)
    assert {row["variant"] for row in study.table("script_control")} == {"main"}


def test_ratio_of_the_scripts_stands_in_the_mechanism(study):
    crossed = {"metric": "total_tokens", "comparison_group": "train_x_runtime"}
    study.statistic("interaction_ratio", **crossed, estimate=0.4, low=0.3, high=0.5)
    study.statistic("interaction_ratio", **crossed, base="teacher", estimate=0.455, low=0.44, high=0.47)
    (row,) = study.table("mechanism")
    assert (row["interaction_ratio"], row["script_interaction_ratio"]) == (0.4, 0.455)


def test_scripts_are_no_trained_cells(study):
    assert {row["base"] for row in study.table("cells")} == {"common"}
    assert {row["base"] for row in study.table("token_sensitivity")} == {"common"}


def _settings(warehouse, score=0.9, **values):
    warehouse.run()
    add_pairs(warehouse, range(20), score=score, **values)
    (row,) = warehouse.sql("select * from marts.judged_settings")
    return row["no_verdict_reason"], row["no_pair_verdict_reason"]


def test_setting_of_twenty_learnt_and_ended_instances_bears_verdicts(warehouse):
    assert _settings(warehouse) == (None, None)


def test_smoke_scale_bears_no_verdict(warehouse):
    reason = "smoke scale: numbers without meaning"
    assert _settings(warehouse, scale="smoke") == (reason, reason)


def test_setting_that_did_not_learn_bears_no_verdict(warehouse):
    reason = "P->P did not learn the task: it scores 40.0 %, a verdict needs 50.0 %"
    assert _settings(warehouse, score=0.4) == (reason, reason)


def test_setting_without_ended_pairs_bears_no_verdict_on_pairs(warehouse):
    none, reason = _settings(warehouse, finish_reason="max_turns")
    assert none is None
    assert reason == "0 pairs ended in all four cells: a verdict on pairs needs 20"


def test_setting_without_the_aligned_cell_bears_no_verdict(warehouse):
    warehouse.run()
    warehouse.episode("P->S", "i1", 0.9)
    (row,) = warehouse.sql("select no_verdict_reason from marts.judged_settings")
    assert row["no_verdict_reason"] == "0 instances in P->P: a verdict needs 20"
