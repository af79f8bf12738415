"""Which study is evaluated again."""

from contextlib import suppress

from carryover.storage.study.runs import finished_runs, landed_plan
from carryover.tasks.plans.spec import StudyPlan
from carryover.tasks.running.errors import UserError


class NoStudyError(UserError):
    """No study has finished that could be evaluated again."""


def choose_study(preset: StudyPlan) -> str:
    """Return the run of the latest finished study that ran a preset; one of its scale with overrides if there is none.

    Raises:
        NoStudyError: No study of that scale has finished.
    """
    scale = preset.name
    studies = finished_runs("reproduce_study", plan_name=scale)
    if not studies:
        raise NoStudyError(
            f"no finished study of scale {scale!r} to evaluate again; `carryover run --scale {scale}` makes one"
        )
    for run_id in reversed(studies):
        with suppress(UserError):  # a plan of another version
            plan = landed_plan(run_id)
            if plan.model_copy(update={"source": preset.source}).digest == preset.digest:
                return run_id
    return studies[-1]
