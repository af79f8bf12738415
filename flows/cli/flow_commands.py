"""Commands whose options are a flow's parameters.

Flow and Prefect load when the command is called.
"""

from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from prefect import Flow

    from carryover.flows.cli.command import EarlyAnswer

# A flow reads its own options: importing Prefect for every command would take seconds.
PASSED_ON: dict[str, Any] = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}

stages = typer.Typer(help="Run one stage of the study.", no_args_is_help=True, rich_markup_mode=None)


def start_flow(context: typer.Context, flow: "Flow[..., Any]", answer: "EarlyAnswer | None" = None) -> None:
    """Run a flow with the options of the command line."""
    from carryover.flows.cli.command import run_as_command

    run_as_command(flow, context.args, name=context.command_path, answer=answer)


def run_study(context: typer.Context) -> None:
    """Run the whole study at one scale and print its result."""
    from carryover.flows.reproduce_study import answer_study, reproduce_study

    start_flow(context, reproduce_study, answer_study)


def reevaluate(context: typer.Context) -> None:
    """Evaluate the models of a finished study again and judge them."""
    from carryover.flows.reevaluate_model import reevaluate_model

    start_flow(context, reevaluate_model)


def run_suites(context: typer.Context) -> None:
    """Play suites under six arms: endpoint, trained small models or oracle."""
    from carryover.flows.compare_arms import compare_arms

    start_flow(context, compare_arms)


@stages.command("generate-instances", context_settings=PASSED_ON)
def generate(context: typer.Context) -> None:
    """Sample, validate and land the instance sets of a plan."""
    from carryover.flows.generate_instances import generate_instances

    start_flow(context, generate_instances)


@stages.command("collect-traces", context_settings=PASSED_ON)
def collect(context: typer.Context) -> None:
    """Collect paired teacher traces under each contract."""
    from carryover.flows.collect_traces import collect_traces

    start_flow(context, collect_traces)


@stages.command("prepare-training", context_settings=PASSED_ON)
def prepare(context: typer.Context) -> None:
    """Check the teacher traces and prepare one dataset per contract."""
    from carryover.flows.prepare_training import prepare_training

    start_flow(context, prepare_training)


@stages.command("train-models", context_settings=PASSED_ON)
def train(context: typer.Context) -> None:
    """Train one model per contract and training seed."""
    from carryover.flows.train_models import train_models

    start_flow(context, train_models)


@stages.command("reinforce-models", context_settings=PASSED_ON)
def reinforce(context: typer.Context) -> None:
    """Reinforce the trained models by GRPO, in the runtimes that the plan names."""
    from carryover.flows.reinforce_models import reinforce_models

    start_flow(context, reinforce_models)


@stages.command("evaluate-models", context_settings=PASSED_ON)
def evaluate(context: typer.Context) -> None:
    """Evaluate every model under both contracts."""
    from carryover.flows.evaluate_models import evaluate_models

    start_flow(context, evaluate_models)


@stages.command("analyse-study", context_settings=PASSED_ON)
def analyse(context: typer.Context) -> None:
    """Merge the landing zone, compute statistics and check the merged tables."""
    from carryover.flows.analyse_study import analyse_study

    start_flow(context, analyse_study)
