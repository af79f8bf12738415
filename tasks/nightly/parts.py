"""Parts of a study that a night plays."""

from itertools import chain

from carryover.tasks.nightly.night_spec import NightObject, study_variant
from carryover.tasks.plans.models import BASE_NAME, ChosenCells, named_cells
from carryover.tasks.plans.study_plan import StudyPart, StudyPlan
from carryover.tasks.services.errors import UserError


def night_parts(plan: StudyPlan, chosen: ChosenCells, night: NightObject) -> list[StudyPart]:
    """Return the parts that have a chosen cell, as the night plays them.

    An endpoint's model is the same in every part, and plays the first.

    Raises:
        UserError: No part has a chosen cell.
    """
    parts = [part for part in plan.parts if part.variant == study_variant(plan)]
    if night.endpoint_model is not None:
        parts = parts[:1]
    base_name = night.endpoint_model or BASE_NAME
    cells_of = [(part, named_cells(part, base_name)) for part in map(night.part, parts)]
    played = [part for part, cells in cells_of if any(chosen.names(*cell) for cell in cells)]
    if not played:
        known = list(chain.from_iterable(cells for _, cells in cells_of))
        models = dict.fromkeys(model for model, _ in known)
        contracts = dict.fromkeys(contract for _, contract in known)
        raise UserError(
            f"plan {plan.name} has no cell {chosen.in_words}; choose --model from {', '.join(models)}, "
            f"--runtime-contract from {', '.join(contracts)}"
        )
    return played
