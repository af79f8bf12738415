"""Plans by name, with overrides, of the source that is here."""

from functools import cache

from carryover.tasks.plans.apply_overrides import apply_overrides
from carryover.tasks.plans.identity import current_source
from carryover.tasks.plans.overrides import Overrides
from carryover.tasks.plans.presets import PLANS
from carryover.tasks.plans.pretrained import fitted
from carryover.tasks.plans.study_plan import StudyPlan
from carryover.tasks.services.errors import UserError


def resolve_plan(name: str, overrides: Overrides | None = None) -> StudyPlan:
    """Return the named plan with overrides.

    Its source is the one here. Raise `UserError` for an unknown name or override.
    """
    return _resolve((name, overrides or Overrides()))


@cache  # a start asks for its plan to answer without a server, to name and to tag its run, and to play it
def _resolve(chosen: tuple[str, Overrides]) -> StudyPlan:
    name, overrides = chosen
    if name not in PLANS:
        raise UserError(f"unknown plan {name!r}; choose from {', '.join(PLANS)}")
    return fitted(apply_overrides(PLANS[name](current_source()), overrides))
