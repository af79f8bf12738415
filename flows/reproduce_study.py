"""The whole study: every stage, from instances to printed tables."""

from collections.abc import Mapping
from typing import Any, Literal

from prefect import flow

from flows.analyse_study import analyse_study
from flows.cli.answers import print_estimate, print_study
from flows.collect_traces import collect_traces
from flows.evaluate_models import evaluate_models
from flows.generate_instances import generate_instances
from flows.gpu_pool import gpu_pool_lacks, train_on_gpu_pool
from flows.prepare_training import prepare_training
from flows.train_models import train_models
from storage.finished import is_analysed, is_finished
from storage.merger import merge
from storage.runs import open_run
from tasks.merge import merge_landing
from tasks.plans.overrides import Overrides
from tasks.plans.preflight import check_needs
from tasks.plans.presets import PlanName, resolve_plan
from tasks.plans.run import Limits
from tasks.running.places import name_places
from tasks.running.progress import progress_bar


@flow(name="reproduce-study")
def reproduce_study(
    scale: PlanName = "laptop",
    overrides: Overrides = Overrides(),  # noqa: B008 - frozen
    limits: Limits = Limits(),  # noqa: B008 - frozen
    train_on: Literal["here", "gpu_pool"] = "here",
    dry_run: bool = False,
) -> None:
    """Run the whole study at one scale and print its tables; what is done already is not done again.

    Args:
        scale: Name of the plan: smoke (a minute, numbers without meaning), laptop (small models on two cores),
            laptop_full (its seeds, arms and controls: hours), or paper (Qwen3-8B on a GPU).
        overrides: Fields of the plan to change.
        limits: When to stop cleanly, to be resumed.
        train_on: Train in this process, or hand the training to the deployment on the work pool `gpu`.
        dry_run: Only print what every stage would take.
    """
    if is_answered(scale, overrides, limits, dry_run=dry_run):
        return
    plan = resolve_plan(scale, overrides)
    if is_finished(plan):
        analyse_study(scale, overrides, limits)
        print_study(plan)
        return
    check_needs(plan, gpu_pool_lacks, trains_here=train_on == "here")
    with open_run("reproduce_study", scale, overrides, limits) as run:
        for stage in (generate_instances, collect_traces, prepare_training):
            stage(scale, overrides, limits, run.run_id)
        if train_on == "gpu_pool":
            train_on_gpu_pool({"scale": scale, "run_id": run.run_id})
        else:
            train_models(scale, overrides, limits, run.run_id)
        for stage in (evaluate_models, analyse_study):
            stage(scale, overrides, limits, run.run_id)
    merge_landing(run)  # the run's own end
    print_study(run.plan)


def is_answered(scale: PlanName, overrides: Overrides, limits: Limits, *, dry_run: bool) -> bool:
    """Print the estimate of a dry run, or the tables of a plan that is finished; tell whether that was all.

    It is not where the analysis has changed since: the statistics are to be computed again. What a plan that is
    finished has landed is merged first: a run may have been killed between its end and its merge.
    """
    plan = resolve_plan(scale, overrides)
    if dry_run:
        print_estimate(plan, limits)
    elif is_finished(plan) and is_analysed(plan):
        places = name_places()
        merge(places.landing, places.warehouse, open_bar=progress_bar)
        print_study(plan)
    else:
        return False
    return True


def answer_study(parameters: Mapping[str, Any]) -> bool:
    """Answer without a Prefect server where that is possible, and say what is missing before one is started."""
    named = {name: parameters[name] for name in ("scale", "overrides", "limits", "dry_run")}
    if is_answered(**named):
        return True
    plan = resolve_plan(parameters["scale"], parameters["overrides"])
    if not is_finished(plan):
        check_needs(plan, gpu_pool_lacks, trains_here=parameters["train_on"] == "here")
    return False
