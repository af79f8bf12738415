"""Kept results whose source or settings have changed since."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from carryover.tasks.plans.overrides import Overrides
from carryover.tasks.plans.presets import PLANS
from carryover.tasks.plans.resolve import resolve_plan
from carryover.tasks.plans.study_plan import StudyPlan
from carryover.tasks.stages.results import KeptPlan, read_plans
from carryover.tasks.traces.vocabulary import PAPER_FAMILY


class StalePlan(NamedTuple):
    """A plan behind kept rows, beside its present version."""

    plan_name: str
    kept_digest: str
    digest_here: str | None
    """None where this checkout has no plan of that name and parts."""


def stale_plans(folder: Path) -> list[StalePlan]:
    """Return kept plans that would get another digest here."""
    found = ((kept, _plan_here(kept)) for kept in read_plans(folder))
    return [
        StalePlan(kept.plan_name, kept.plan_digest, None if here is None else here.digest)
        for kept, here in found
        if here is None or not _is_same(kept, here)
    ]


def describe_stale(stale: Iterable[StalePlan]) -> str | None:
    """Describe the first stale plan, and count the others.

    None without one.
    """
    plans = list(stale)
    if not plans:
        return None
    first = plans[0]
    here = "this checkout has no such plan"
    if first.digest_here:
        here = f"a run here is of plan {first.digest_here} and may give others"
    more = ""
    if len(plans) > 1:
        more = f" (and {len(plans) - 1} more plans of these results)"
    return f"these rows of {first.plan_name} were measured with plan {first.kept_digest}; {here}{more}"


def _plan_here(kept: KeptPlan) -> StudyPlan | None:
    """Return what a run of a kept plan would play here; None where it cannot."""
    if kept.plan_name not in PLANS:
        return None
    whole = resolve_plan(kept.plan_name)
    if _is_of_users_choice(kept, whole):
        return _read_here({**kept.plan, "source": whole.source})
    wanted = tuple(part["name"] for part in kept.plan["parts"])
    names = tuple(part.name for part in whole.parts)
    if wanted == names:
        return whole
    if set(wanted) <= set(names):
        return resolve_plan(kept.plan_name, Overrides(parts=wanted))
    return None


def _is_same(kept: KeptPlan, here: StudyPlan) -> bool:
    """Tell whether a kept plan is the one here.

    One of a user's model was taken over with its settings, so its source alone may differ; its digest is of a folder
    that is not kept.
    """
    if _is_of_users_choice(kept, resolve_plan(kept.plan_name)):
        return kept.plan["source"] == here.source
    return kept.plan_digest == here.digest


def _is_of_users_choice(kept: KeptPlan, whole: StudyPlan) -> bool:
    """Tell whether a user chose the task family or model of a kept plan.

    Settings that differ from the plan of that name then belong to the choice: they do not make the rows stale.
    """
    chosen_here = {part.name: (part.training.base_model, part.train_instances.family) for part in whole.parts}
    for part in kept.plan["parts"]:
        chosen = (part["training"]["base_model"], part["train_instances"].get("family", PAPER_FAMILY))
        if chosen != chosen_here.get(part["name"], chosen):
            return True
    return False


def _read_here(plan: Mapping[str, Any]) -> StudyPlan | None:
    """Return a kept plan; None where it holds settings that this checkout does not know."""
    try:
        return StudyPlan.model_validate(plan)
    except ValidationError:
        return None
