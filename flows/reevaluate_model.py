"""A scheduled re-evaluation: the trained models of a study once more, on the same fixed instances."""

from prefect import flow

from carryover.flows.analyse_study import analyse_study
from carryover.flows.evaluate_models import evaluate_part
from carryover.storage.study.reevaluation import choose_study, name_variant
from carryover.storage.study.runs import landed_plan, start_run
from carryover.tasks.plans.models import ALL_CELLS, ChosenCells
from carryover.tasks.plans.presets import PlanName, resolve_plan
from carryover.tasks.plans.run import Limits


@flow(name="reevaluate-model")
def reevaluate_model(
    scale: PlanName = "laptop",
    limits: Limits = Limits(),  # noqa: B008 - frozen
    study_run: str | None = None,
    cells: ChosenCells = ALL_CELLS,
) -> None:
    """Evaluate the models of a finished study again on its fixed instances, each time as a new replicate.

    A model that is chosen by name, or runs under a chosen contract, is refused where it was trained on another one,
    unless the caller says that this is a cross-evaluation. After an update the episodes stand apart, under a variant
    that names the source which played them.

    Args:
        scale: Name of the plan whose latest finished study is taken; one with overrides only where there is no other.
        limits: When to stop.
        study_run: Run of the study, where it is not the latest.
        cells: Model and runtime contract, where not every cell is wanted.
    """
    plan = landed_plan(study_run or choose_study(resolve_plan(scale)))
    variant = name_variant(plan)
    with start_run("reevaluate_model", plan, limits) as run:
        for part in plan.parts:
            if part.variant == "main":
                own = tuple(evaluation for evaluation in part.evaluations if evaluation.variant is None)
                evaluate_part(run, part.model_copy(update={"evaluations": own}), variant=variant, chosen=cells)
        analyse_study(scale, limits=limits, run_id=run.run_id)
