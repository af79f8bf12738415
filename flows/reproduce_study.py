"""The whole study: every stage, from instances to printed tables."""

from prefect import flow

from flows.analyse_study import analyse_study
from flows.cli.answers import print_estimate, print_study
from flows.cli.command import run_as_command
from flows.collect_traces import collect_traces
from flows.evaluate_models import evaluate_models
from flows.generate_instances import generate_instances
from flows.prepare_training import prepare_training
from flows.train_models import train_models
from storage.finished import is_finished
from storage.runs import open_run
from tasks.plans.preflight import check_needs
from tasks.plans.presets import Overrides, PlanName, resolve_plan
from tasks.plans.run import Limits

STAGES = (generate_instances, collect_traces, prepare_training, train_models, evaluate_models, analyse_study)


@flow(name="reproduce-study")
def reproduce_study(
    scale: PlanName = "laptop",
    overrides: Overrides = Overrides(),  # noqa: B008 - frozen
    limits: Limits = Limits(),  # noqa: B008 - frozen
    dry_run: bool = False,
) -> None:
    """Run the whole study at one scale and print its tables; what is done already is not done again.

    Args:
        scale: Name of the plan: smoke (a minute, numbers without meaning), laptop (small models on two cores), or
            paper (Qwen3-8B on a GPU).
        overrides: Fields of the plan to change.
        limits: When to stop cleanly, to be resumed.
        dry_run: Only print what every stage would take.
    """
    plan = resolve_plan(scale, overrides)
    if dry_run:
        print_estimate(plan, limits)
        return
    if not is_finished(plan):
        check_needs(plan)
        with open_run("reproduce_study", scale, overrides, limits) as run:
            for stage in STAGES:
                stage(scale, overrides, limits, run.run_id)
    print_study(plan)


if __name__ == "__main__":
    run_as_command(reproduce_study)
