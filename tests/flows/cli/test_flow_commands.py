"""Every command of a flow starts that flow with the options of its line."""

import pytest
from click.testing import CliRunner

from carryover.flows.analyse_study import analyse_study
from carryover.flows.cli import command as command_module
from carryover.flows.collect_traces import collect_traces
from carryover.flows.compare_arms import compare_arms
from carryover.flows.evaluate_models import evaluate_models
from carryover.flows.generate_instances import generate_instances
from carryover.flows.prepare_training import prepare_training
from carryover.flows.reevaluate_model import reevaluate_model
from carryover.flows.reinforce_models import reinforce_models
from carryover.flows.reproduce_study import answer_study, reproduce_study
from carryover.flows.train_models import train_models
from tests.flows.cli.calling import COMMAND


@pytest.mark.parametrize(
    ("words", "flow", "answer"),
    [
        ("run", reproduce_study, answer_study),
        ("reevaluate", reevaluate_model, None),
        ("cave run", compare_arms, None),
        ("stage generate-instances", generate_instances, None),
        ("stage collect-traces", collect_traces, None),
        ("stage prepare-training", prepare_training, None),
        ("stage train-models", train_models, None),
        ("stage reinforce-models", reinforce_models, None),
        ("stage evaluate-models", evaluate_models, None),
        ("stage analyse-study", analyse_study, None),
    ],
)
@pytest.mark.parametrize("options", [["--scale", "smoke", "--any=1"], ["--help"]])
def test_a_command_starts_its_flow_with_its_options(monkeypatch, words, flow, answer, options):
    started = []
    monkeypatch.setattr(command_module, "run_as_command", lambda *given, **named: started.append((given, named)))
    done = CliRunner().invoke(COMMAND, [*words.split(), *options], catch_exceptions=False, prog_name="carryover")
    assert done.exit_code == 0
    assert started == [((flow, options), {"name": f"carryover {words}", "answer": answer})]
