"""The whole study: every stage, from instances to printed tables."""

from collections.abc import Mapping
from typing import Any, Literal

from carryover.flows.analyse_study import analyse_study
from carryover.flows.artifacts import show_study
from carryover.flows.cli.answers import print_estimate, print_study
from carryover.flows.collect_traces import collect_traces
from carryover.flows.evaluate_models import evaluate_models
from carryover.flows.generate_instances import generate_instances
from carryover.flows.gpu_pool import gpu_pool_lacks, train_on_gpu_pool
from carryover.flows.key_blocks import load_keys
from carryover.flows.prefect_flow import flow
from carryover.flows.prepare_training import prepare_training
from carryover.flows.train_models import train_models
from carryover.storage.warehouse.merger import merge
from carryover.tasks.analyse import merge_landing
from carryover.tasks.plans.identity import Stage
from carryover.tasks.plans.overrides import Overrides
from carryover.tasks.plans.preflight import check_needs, training_needs
from carryover.tasks.plans.presets import PlanName
from carryover.tasks.plans.resolve import resolve_plan
from carryover.tasks.plans.run import Limits
from carryover.tasks.plans.study_plan import StudyPlan
from carryover.tasks.services.folders import name_folders
from carryover.tasks.services.progress import progress_bar
from carryover.tasks.stages.finished import is_analysed, is_finished
from carryover.tasks.stages.runs import start_run


@flow("study")
def reproduce_study(
    scale: PlanName = "laptop",
    overrides: Overrides = Overrides(),  # noqa: B008 - frozen
    limits: Limits = Limits(),  # noqa: B008 - frozen
    train_on: Literal["here", "gpu_pool"] = "here",
    dry_run: bool = False,
) -> None:
    """Run the whole study at one scale and print its tables. Finished stages are reused.

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
    if is_answered(plan, limits, dry_run=dry_run):
        if not dry_run:
            show_study(plan)
        return
    if not limits.refresh and is_finished(plan):
        analyse_study(scale, overrides, limits)
    else:
        check_needs(plan, gpu_pool_lacks, trains_here=train_on == "here", gpus_per_training=limits.gpus_per_training)
        with start_run("reproduce_study", plan, limits) as run:
            for stage in (generate_instances, collect_traces, prepare_training):
                stage(scale, overrides, limits, run.run_id)
            if train_on == "gpu_pool":
                needs = training_needs(plan, limits.gpus_per_training)
                own = limits.model_copy(update={"refresh": tuple({Stage.TRAINING}.intersection(limits.refresh))})
                handed = {"overrides": overrides, "limits": own}
                shown = {name: value.model_dump(mode="json", exclude_defaults=True) for name, value in handed.items()}
                train_on_gpu_pool({"scale": scale, **shown, "run_id": run.run_id}, run.folders, needs)
            else:
                train_models(scale, overrides, limits, run.run_id)
            for stage in (evaluate_models, analyse_study):
                stage(scale, overrides, limits, run.run_id)
        merge_landing(run)  # the run's own end
    print_study(plan)
    show_study(plan)


def is_answered(plan: StudyPlan, limits: Limits, *, dry_run: bool) -> bool:
    """Print the estimate of a dry run, or the tables of a finished plan; return whether that was all.

    The statistics of a finished plan are computed again once the analysis has changed. What it has landed is merged
    first: a run may have been killed between its end and its merge.
    """
    if dry_run:
        print_estimate(plan, limits)
        return True
    is_done = not limits.refresh and is_finished(plan) and is_analysed(plan)
    if is_done:
        folders = name_folders()
        merge(folders.landing, folders.warehouse, open_bar=progress_bar)
        print_study(plan)
    return is_done


def answer_study(parameters: Mapping[str, Any]) -> bool:
    """Answer without a Prefect server, or refuse for missing prerequisites before one starts."""
    plan, limits = resolve_plan(parameters["scale"], parameters["overrides"]), parameters["limits"]
    if is_answered(plan, limits, dry_run=parameters["dry_run"]):
        return True
    if limits.refresh or not is_finished(plan):
        load_keys(plan)
        is_here = parameters["train_on"] == "here"
        check_needs(plan, gpu_pool_lacks, trains_here=is_here, gpus_per_training=limits.gpus_per_training)
    return False
