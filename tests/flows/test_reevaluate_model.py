"""What the nightly schedule runs: each time one more replicate, in tables of its own beside those of the study."""

import shutil
from collections import Counter

import pytest

from carryover.flows.cli.command import run_as_command
from carryover.flows.reevaluate_model import reevaluate_model
from carryover.storage.zone.landing import LandingZone
from carryover.tasks.plans.models import ChosenCells
from tests.flows.flow_process import run_flow, start_flow

SMOKE = ("--scale", "smoke")
CELL = ("base", "model_digest", "train_contract", "runtime_contract", "instance_id")


@pytest.fixture
def studied(smoke_study, tmp_path):
    """A data folder with a finished study."""
    return shutil.copytree(smoke_study.home, tmp_path / "data")


def evaluated(home, variant):
    """Count the evaluation episodes of a variant by cell and instance, for each replicate."""
    found = {}
    for row in LandingZone(home / "landing").scan("episodes").collect().iter_rows(named=True):
        if row["purpose"] == "evaluation" and row["variant"] == variant:
            found.setdefault(row["replicate"], Counter())[tuple(row[name] for name in CELL)] += 1
    return found


def rows_of_the_study(printed):
    """Return the rows of tables printed as CSV without those of the re-evaluation."""
    return [line for line in printed.splitlines() if "reevaluation" not in line]


@pytest.mark.prefect
@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_every_reevaluation_adds_one_replicate_and_leaves_the_tables_of_the_study_alone(
    studied, smoke_study, prefect_api
):
    (study,) = evaluated(studied, "main").values()
    assert set(study.values()) == {1}
    printed = run_flow(studied, "tables", "--format", "csv")
    assert "reevaluation" not in printed

    run_flow(studied, "reevaluate", *SMOKE, server=prefect_api)
    assert evaluated(studied, "reevaluation") == {0: study}
    run_flow(studied, "reevaluate", *SMOKE, server=prefect_api)
    assert evaluated(studied, "reevaluation") == {0: study, 1: study}

    assert evaluated(studied, "main") == {0: study}
    run_flow(studied, "run", *smoke_study.options, server=prefect_api)
    printed_again = run_flow(studied, "tables", "--format", "csv")
    assert "reevaluation" in printed_again
    assert rows_of_the_study(printed_again) == rows_of_the_study(printed)


@pytest.mark.prefect
@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_one_model_is_evaluated_again_under_its_own_contract_and_under_another_only_on_purpose(studied, prefect_api):
    other = ("reevaluate", *SMOKE, "--model", "persistent-0", "--runtime-contract", "stateless")
    refused = start_flow(studied, *other, server=prefect_api)
    _, said = refused.communicate()
    assert refused.returncode == 1
    assert "trained on the persistent contract, the runtime is stateless" in said
    assert evaluated(studied, "reevaluation") == {}

    run_flow(studied, *other, "--is-cross-evaluation", server=prefect_api)
    (played,) = evaluated(studied, "reevaluation").values()
    assert {(train, runtime) for _, _, train, runtime, _ in played} == {("persistent", "stateless")}
    assert len(played) == 2


def test_a_model_and_a_contract_are_options_of_the_command():
    seen = []
    with pytest.raises(SystemExit):
        run_as_command(
            reevaluate_model,
            ["--model", "persistent-0", "--runtime-contract", "stateless", "--is-cross-evaluation"],
            answer=lambda parameters: seen.append(parameters["cells"]) or True,
        )
    assert seen == [ChosenCells(model="persistent-0", runtime_contract="stateless", is_cross_evaluation=True)]
