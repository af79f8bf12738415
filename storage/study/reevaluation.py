"""Which study is evaluated again, and under which name its episodes land."""

from contextlib import suppress

from carryover.storage.study.runs import finished_runs, landed_plan
from carryover.tasks.plans.identity import current_source
from carryover.tasks.plans.spec import StudyPlan
from carryover.tasks.running.errors import UserError

VARIANT = "reevaluation"
"""Variant of the episodes, so that the study's own tables stay as they are."""
SOURCE_DIGITS = 8
"""Digits of a source's digest that tell it from others in a variant's name."""


def choose_study(preset: StudyPlan) -> str:
    """Return the run of the latest finished study that ran a preset; one of its scale with overrides if there is none.

    Raises:
        UserError: No study of that scale has finished.
    """
    scale = preset.name
    studies = finished_runs("reproduce_study", plan_name=scale)
    if not studies:
        raise UserError(
            f"no finished study of scale {scale!r} to evaluate again; `carryover run --scale {scale}` makes one"
        )
    for run_id in reversed(studies):
        with suppress(UserError):  # a plan of another version
            plan = landed_plan(run_id)
            if plan.model_copy(update={"source": preset.source}).digest == preset.digest:
                return run_id
    return studies[-1]


def name_variant(plan: StudyPlan) -> str:
    """Return the variant that a re-evaluation lands under: one of its own for every source but the plan's."""
    source = current_source()
    return VARIANT if source == plan.source else f"{VARIANT}-{source[:SOURCE_DIGITS]}"
