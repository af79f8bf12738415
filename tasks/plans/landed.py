"""Reading a plan that landed, maybe by another version."""

from collections.abc import Iterator
from typing import Any

from pydantic import ValidationError
from pydantic_core import from_json

from carryover.tasks.plans.difference import describe_difference
from carryover.tasks.plans.spec import StudyPlan
from carryover.tasks.running.errors import UserError

FIELDS_SHOWN = 3
"""How many fields a refusal names; an update may have changed a field of every part."""


class OtherVersionError(UserError):
    """A plan that another version made; the text names the fields that this version has otherwise."""


def read_plan(plan_json: str, digest: str) -> StudyPlan:
    """Return a plan as it was resolved when it landed.

    A field that the plan lacks is not filled in: the digest is over all fields, and models and episodes are found by
    it.

    Raises:
        OtherVersionError: It has not the fields of this version, or other values than its digest says.
    """
    try:
        plan = StudyPlan.model_validate_json(plan_json)
    except ValidationError as error:
        raise OtherVersionError(_refusal(list(_complaints(error)))) from error
    if plan.digest != digest:
        raise OtherVersionError(_refusal(describe_new_fields(from_json(plan_json), plan)))
    return plan


def describe_new_fields(landed: dict[str, Any], plan: StudyPlan) -> list[str]:
    """Return one phrase per field that this version has and the landed plan does not."""
    sentences = describe_difference(landed, plan.model_dump(mode="json"))
    return [f"it lacks {sentence.partition(': nothing in the first')[0]}" for sentence in sentences]


def _complaints(error: ValidationError) -> Iterator[str]:
    for complaint in error.errors(include_url=False):
        field = ".".join(str(step) for step in complaint["loc"]) or "the plan"
        match complaint["type"]:
            case "extra_forbidden":
                yield f"{field} is unknown here"
            case "missing":
                yield f"it lacks {field}"
            case _:
                yield f"{field}: {complaint['msg']}"


def _refusal(complaints: list[str]) -> str:
    """Return the first complaints as one line."""
    if not complaints:
        return "its digest is made otherwise"
    more = len(complaints) - FIELDS_SHOWN
    return "; ".join(complaints[:FIELDS_SHOWN]) + (f"; and {more} more" if more > 0 else "")
