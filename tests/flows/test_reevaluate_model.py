"""What the nightly schedule runs: each time one more replicate, in tables of its own beside those of the study."""

import re
from collections import Counter

import pytest

from storage.landing import LandingZone
from tests.flows.flow_process import run_flow

SMOKE = ("--scale", "smoke")
STUDY = ("reproduce_study", *SMOKE, "--train-count", "12", "--evaluation-count", "2")
CELL = ("base", "model_digest", "train_contract", "runtime_contract", "instance_id")


def evaluated(home, variant):
    """Count the evaluation episodes of a variant by cell and instance, for each replicate."""
    found = {}
    for row in LandingZone(home / "landing").scan("episodes").collect().iter_rows(named=True):
        if row["purpose"] == "evaluation" and row["variant"] == variant:
            found.setdefault(row["replicate"], Counter())[tuple(row[name] for name in CELL)] += 1
    return found


def lines_of_the_study(printed):
    """Return the printed tables without the sections whose heading names the re-evaluation."""
    kept, is_of_study = [], True
    for line in printed[printed.index("smoke: smoke") : printed.index("\nThe warehouse is ")].splitlines():
        if re.search(r"^\w+: |\bvariant \w+, ", line):
            is_of_study = "reevaluation" not in line
        if is_of_study and line.strip():
            kept.append(line)
    return kept


@pytest.mark.prefect
@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_every_reevaluation_adds_one_replicate_and_leaves_the_tables_of_the_study_alone(tmp_path):
    printed = run_flow(tmp_path, *STUDY)
    (study,) = evaluated(tmp_path, "main").values()
    assert set(study.values()) == {1}
    assert "variant reevaluation" not in printed

    run_flow(tmp_path, "reevaluate_model", *SMOKE)
    assert evaluated(tmp_path, "reevaluation") == {0: study}
    run_flow(tmp_path, "reevaluate_model", *SMOKE)
    assert evaluated(tmp_path, "reevaluation") == {0: study, 1: study}

    assert evaluated(tmp_path, "main") == {0: study}
    printed_again = run_flow(tmp_path, *STUDY)
    assert "variant reevaluation" in printed_again
    assert lines_of_the_study(printed_again) == lines_of_the_study(printed)
