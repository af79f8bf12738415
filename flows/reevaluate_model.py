"""Scheduled re-evaluation of a finished study's models."""

from collections.abc import Sequence
from typing import Any

from prefect.client.schemas.objects import State
from prefect.states import Completed

from carryover.flows.analyse_study import analyse_study
from carryover.flows.artifacts import show_verdicts
from carryover.flows.cli.messages import report_unmerged, say
from carryover.flows.evaluate_models import evaluate_part
from carryover.flows.prefect_flow import add_tags, flow
from carryover.tasks.analyse import merge_landing
from carryover.tasks.generate import provide_instances
from carryover.tasks.judge import announce_night, judge_episodes
from carryover.tasks.nightly.judge import summarize
from carryover.tasks.nightly.night_spec import NightObject, Thresholds
from carryover.tasks.nightly.parts import night_parts
from carryover.tasks.plans.identity import Stage
from carryover.tasks.plans.models import ALL_CELLS, ChosenCells
from carryover.tasks.plans.presets import PlanName
from carryover.tasks.plans.resolve import resolve_plan
from carryover.tasks.plans.run import Limits, Run
from carryover.tasks.plans.study_plan import StudyPart
from carryover.tasks.services.errors import UserError
from carryover.tasks.stages.runs import NoStudyError, choose_study, landed_plan, start_run


@flow("reevaluation", tasks_at_once=8)  # the few episodes of one cell leave an endpoint idle
def reevaluate_model(
    scale: PlanName = "laptop",
    limits: Limits = Limits(),  # noqa: B008 - frozen
    study_run: str | None = None,
    *,
    cells: ChosenCells = ALL_CELLS,
    night: NightObject = NightObject(),  # noqa: B008 - frozen
    thresholds: Thresholds = Thresholds(),  # noqa: B008 - frozen
) -> State[Any]:
    """Evaluate a finished study's models again, and judge them against it.

    Every night plays the study's decoding seeds again, so that the first one is equal to the study, token by token, or
    the verdict names what is not as it was. A model that is chosen by name, or runs under a chosen contract, is refused
    where it was trained on another one, unless the caller says that this is a cross-evaluation.

    Args:
        scale: Name of the plan whose latest finished study is taken; one with overrides only where there is no other.
        limits: When to stop.
        study_run: Run of the study, where it is not the latest.
        cells: Model and runtime contract, where not every cell is wanted.
        night: Who plays, where that is not the study's models on a server of its own, and with which decoding seeds.
        thresholds: Which differences are a regression.

    Raises:
        UserError: The plan has no such cell, or too few episodes of one ended.
    """
    try:
        plan = landed_plan(study_run or choose_study(resolve_plan(scale)))
    except NoStudyError as error:
        if night.endpoint_model is None:
            say(f"skipped: {error}")
            add_tags("verdict:skipped")
            return Completed(message=f"skipped: {error}")
        plan = resolve_plan(scale)
    parts = night_parts(plan, cells, night)
    with start_run("reevaluate_model", plan, limits) as run:
        _play(run, parts, cells, night)
        report_unmerged(merge_landing(run))
        verdicts = judge_episodes(run, night.series, thresholds)
        message = summarize(verdicts)
        show_verdicts(plan, verdicts, message)
        say(message)
        analyse_study(limits=limits, run_id=run.run_id)
        found = {verdict.verdict for verdict in verdicts}
        add_tags(*[f"verdict:{verdict}" for verdict in found])
        if "incomplete" in found:
            raise UserError(f"too few episodes of a cell ended to judge it: {message}")
    report_unmerged(merge_landing(run))  # the run's own end
    announce_night(run, night.series, message)
    return Completed(message=message)  # the UI's page of a deployment lists no run whose state has a name of its own


def _play(run: Run, parts: Sequence[StudyPart], cells: ChosenCells, night: NightObject) -> None:
    """Play every cell once more.

    Each episode is a further attempt at the one before.
    """
    again = run.limits.model_copy(update={"refresh": (*run.limits.refresh, Stage.EVALUATION)})
    for part in parts:
        for evaluation in part.evaluations if night.endpoint_model is not None else ():
            provide_instances(run, evaluation.instances)
        evaluate_part(run.model_copy(update={"limits": again}), part, chosen=cells, night=night)
