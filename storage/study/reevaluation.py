"""Which study is evaluated again."""

from contextlib import suppress

from carryover.storage.study.runs import finished_runs, landed_plan
from carryover.tasks.plans.presets import resolve_plan
from carryover.tasks.plans.spec import StudyPlan
from carryover.tasks.running.errors import UserError


class NoStudyError(UserError):
    """No study has finished that could be evaluated again."""


def choose_study(scale: str) -> str:
    """Return the run of the latest finished study of a scale as its preset has it; with overrides where there is none.

    Raises:
        NoStudyError: No study of that scale has finished.
    """
    studies = finished_runs("reproduce_study", plan_name=scale)
    if not studies:
        raise NoStudyError(
            f"no finished study of scale {scale!r} to evaluate again; `carryover run --scale {scale}` makes one"
        )
    preset = resolve_plan(scale)
    for run_id in reversed(studies):
        with suppress(UserError):  # a plan of another version
            if _is_of(preset, landed_plan(run_id)):
                return run_id
    return studies[-1]


def _is_of(preset: StudyPlan, plan: StudyPlan) -> bool:
    """Tell whether a plan is a preset without overrides, whatever its source."""
    return plan.model_copy(update={"source": preset.source}).digest == preset.digest
