"""A scheduled re-evaluation: the trained models of a study once more, on the same fixed instances."""

from prefect import flow

from flows.analyse_study import analyse_study
from flows.cli.command import run_as_command
from flows.evaluate_models import evaluate_part
from storage.runs import finished_runs, landed_plan, start_run
from tasks.plans.models import ALL_CELLS, ChosenCells
from tasks.plans.presets import PlanName
from tasks.plans.run import Limits
from tasks.running.errors import UserError

VARIANT = "reevaluation"
"""Variant of the episodes, so that the study's own tables stay as they are."""


@flow(name="reevaluate-model")
def reevaluate_model(
    scale: PlanName = "laptop",
    limits: Limits = Limits(),  # noqa: B008 - frozen
    study_run: str | None = None,
    cells: ChosenCells = ALL_CELLS,
) -> None:
    """Evaluate the models of a finished study again on its fixed instances, each time as a new replicate.

    A model that is chosen by name, or runs under a chosen contract, is refused where it was trained on another one,
    unless the caller says that this is a cross-evaluation.

    Args:
        scale: Name of the plan whose latest finished study is taken.
        limits: When to stop.
        study_run: Run of the study, where it is not the latest.
        cells: Model and runtime contract, where not every cell is wanted.
    """
    studies = [study_run] if study_run else finished_runs("reproduce_study", plan_name=scale)
    if not studies:
        raise UserError(f"no finished study of scale {scale!r} to evaluate again; run flows.reproduce_study first")
    plan = landed_plan(studies[-1])
    replicates = len(finished_runs("reevaluate_model", plan_digest=plan.digest)) + 1
    with start_run("reevaluate_model", plan, limits) as run:
        for part in plan.parts:
            if part.variant == "main":
                own = tuple(evaluation for evaluation in part.evaluations if evaluation.variant is None)
                again = part.model_copy(update={"evaluations": own})
                evaluate_part(run, again, variant=VARIANT, replicates=replicates, chosen=cells)
        analyse_study(scale, limits=limits, run_id=run.run_id)


if __name__ == "__main__":
    run_as_command(reevaluate_model)
