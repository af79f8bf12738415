"""The whole study: every stage, from instances to printed tables."""

from collections.abc import Mapping
from typing import Any, Literal

from carryover.flows.analyse_study import analyse_study
from carryover.flows.artifacts import show_study
from carryover.flows.cli.messages import report_unmerged
from carryover.flows.cli.results.answers import print_estimate, print_study
from carryover.flows.collect_traces import collect_traces
from carryover.flows.evaluate_models import evaluate_models
from carryover.flows.generate_instances import generate_instances
from carryover.flows.gpu_pool import gpu_pool_lacks, train_on_gpu_pool
from carryover.flows.key_blocks import load_keys
from carryover.flows.prefect_flow import flow
from carryover.flows.prepare_training import prepare_training
from carryover.flows.reinforce_models import reinforce_models
from carryover.flows.train_models import train_models
from carryover.storage.warehouse.merger import merge
from carryover.tasks.analyse import merge_landing
from carryover.tasks.plans.identity import Stage
from carryover.tasks.plans.overrides import Overrides
from carryover.tasks.plans.preflight import check_needs, training_needs
from carryover.tasks.plans.presets import DEFAULT_PLAN, PlanName
from carryover.tasks.plans.resolve import resolve_plan
from carryover.tasks.plans.run import Limits, Run
from carryover.tasks.plans.study_plan import StudyPlan
from carryover.tasks.services.folders import name_folders
from carryover.tasks.services.progress import progress_bar
from carryover.tasks.stages.finished import is_analysed, is_finished
from carryover.tasks.stages.runs import start_run

TrainOn = Literal["here", "gpu_pool"]
DueWork = Literal["estimate", "play", "analysis", "nothing"]
"""Work that a start of the study has to do before it prints."""


@flow("study")
def reproduce_study(
    scale: PlanName = DEFAULT_PLAN,
    overrides: Overrides = Overrides(),  # noqa: B008 - frozen
    limits: Limits = Limits(),  # noqa: B008 - frozen
    train_on: TrainOn = "here",
    dry_run: bool = False,
) -> None:
    """Run the whole study at one scale and print its tables.

    Args:
        scale: Name of the plan: smoke (two minutes, numbers without meaning), laptop (small models on two cores),
            laptop_full (its seeds, arms and controls: hours), laptop_injected (with injected objects: hours),
            pretrained (adapters on --base-model), or paper (Qwen3-8B on a GPU).
        overrides: Fields of the plan to change.
        limits: When to stop cleanly, to be resumed.
        train_on: Train in this process, or hand the training to the deployment on the work pool `gpu`.
        dry_run: Print estimated episodes, tokens, cost and hours; run nothing.
    """
    plan = resolve_plan(scale, overrides)
    match due_work(plan, limits, dry_run=dry_run):
        case "estimate":
            print_estimate(plan, limits)
            return
        case "play":
            check_study(plan, limits, train_on)
            _play(plan, limits, train_on)
        case "analysis":
            analyse_study(scale, overrides, limits)
        case "nothing":
            _merge_landed()
    print_study(plan)
    show_study(plan)


def answer_study(parameters: Mapping[str, Any]) -> bool:
    """Print an estimate, or a finished plan's tables, without a Prefect server.

    `False` if the flow is to run.

    Raise `UserError` with what the study needs and does not find, before a server starts.
    """
    plan = resolve_plan(parameters["scale"], parameters["overrides"])
    limits = parameters["limits"]
    match due_work(plan, limits, dry_run=parameters["dry_run"]):
        case "estimate":
            print_estimate(plan, limits)
        case "nothing":
            _merge_landed()
            print_study(plan)
        case "play":
            check_study(plan, limits, parameters["train_on"])
            return False
        case "analysis":
            return False
    return True


def due_work(plan: StudyPlan, limits: Limits, *, dry_run: bool) -> DueWork:
    """Return what a start of the study has to do.

    A stage that is refreshed, or a plan that has not finished, is played. The statistics of a finished plan are
    computed again once the analysis has changed.
    """
    if dry_run:
        return "estimate"
    if limits.refresh or not is_finished(plan):
        return "play"
    if not is_analysed(plan):
        return "analysis"
    return "nothing"


def check_study(plan: StudyPlan, limits: Limits, train_on: TrainOn) -> None:
    """Load the keys that a plan names, and check what else it needs.

    A command asks before a server starts, and the flow asks again: a deployment starts it without a command.

    Raises:
        UserError: Something is missing that the study needs: a key, an endpoint, memory, a GPU.
    """
    load_keys(plan)
    check_needs(plan, gpu_pool_lacks, trains_here=train_on == "here", limits=limits)


def _merge_landed() -> None:
    """Merge what has landed: a run may have been killed between its end and its merge."""
    folders = name_folders()
    report_unmerged(merge(folders.landing, folders.warehouse, open_bar=progress_bar))


def _play(plan: StudyPlan, limits: Limits, train_on: TrainOn) -> None:
    """Run every stage as a part of one run."""
    with start_run("reproduce_study", plan, limits) as run:
        for stage in (generate_instances, collect_traces, prepare_training):
            stage(limits=limits, run_id=run.run_id)
        if train_on == "gpu_pool":
            _hand_training_over(run)
        else:
            train_models(limits=limits, run_id=run.run_id)
        if any(part.reinforcement is not None for part in plan.parts):
            reinforce_models(limits=limits, run_id=run.run_id)
        for stage in (evaluate_models, analyse_study):
            stage(limits=limits, run_id=run.run_id)
    report_unmerged(merge_landing(run))  # the run's own end


def _hand_training_over(run: Run) -> None:
    """Train on the work pool, with the run's limits that concern training."""
    needs = training_needs(run.plan, run.limits)
    refresh = tuple({Stage.TRAINING}.intersection(run.limits.refresh))
    limits = run.limits.model_copy(update={"refresh": refresh})
    shown = limits.model_dump(mode="json", exclude_defaults=True)
    train_on_gpu_pool({"limits": shown, "run_id": run.run_id}, run.folders, needs)
