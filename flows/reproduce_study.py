"""The whole study: every stage, from instances to printed tables."""

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from carryover.flows.analyse_study import analyse_study
from carryover.flows.artifacts import show_study
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
    start = Start(plan.digest, limits, train_on, dry_run)
    if start in _unanswered:
        _unanswered.remove(start)
    elif is_answered(plan, limits, train_on, dry_run=dry_run):
        if not dry_run:
            show_study(plan)
        return
    if is_to_be_played(plan, limits):
        _play(plan, limits, train_on)
    else:
        analyse_study(scale, overrides, limits)
    print_study(plan)
    show_study(plan)


def answer_study(parameters: Mapping[str, Any]) -> bool:
    """Answer from landed results, without a Prefect server.

    `False` if the flow is to run.

    Raise `UserError` with what the study needs and does not find, before a server starts.
    """
    plan = resolve_plan(parameters["scale"], parameters["overrides"])
    start = Start(plan.digest, parameters["limits"], parameters["train_on"], parameters["dry_run"])
    if is_answered(plan, start.limits, start.train_on, dry_run=start.dry_run):
        return True
    _unanswered.add(start)
    return False


class Start(NamedTuple):
    """A start of the study, by its parameters."""

    plan_digest: str
    limits: Limits
    train_on: TrainOn
    dry_run: bool


_unanswered: set[Start] = set()
"""Starts that the command has looked at; the flow plays them without looking again."""


def is_answered(plan: StudyPlan, limits: Limits, train_on: TrainOn = "here", *, dry_run: bool) -> bool:
    """Print a dry run's estimate, or a finished plan's tables.

    Return whether that was all.

    The statistics of a finished plan are computed again once the analysis has changed. What it has landed is merged
    first: a run may have been killed between its end and its merge.

    Raises:
        UserError: Something is missing that the study needs: a key, an endpoint, memory, a GPU.
    """
    if dry_run:
        print_estimate(plan, limits)
        return True
    if is_to_be_played(plan, limits):
        load_keys(plan)
        trains_here = train_on == "here"
        check_needs(plan, gpu_pool_lacks, trains_here=trains_here, limits=limits)
        return False
    if not is_analysed(plan):
        return False
    folders = name_folders()
    merge(folders.landing, folders.warehouse, open_bar=progress_bar)
    print_study(plan)
    return True


def is_to_be_played(plan: StudyPlan, limits: Limits) -> bool:
    """Tell whether a stage is refreshed, or the plan is unfinished."""
    return bool(limits.refresh) or not is_finished(plan)


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
    merge_landing(run)  # the run's own end


def _hand_training_over(run: Run) -> None:
    """Train on the work pool, with the run's limits that concern training."""
    needs = training_needs(run.plan, run.limits)
    refresh = tuple({Stage.TRAINING}.intersection(run.limits.refresh))
    limits = run.limits.model_copy(update={"refresh": refresh})
    shown = limits.model_dump(mode="json", exclude_defaults=True)
    train_on_gpu_pool({"limits": shown, "run_id": run.run_id}, run.folders, needs)
