"""Parts of a study that a night plays."""

from collections.abc import Iterable
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
    base_name = night.endpoint_model or BASE_NAME
    cells_of = [(part, named_cells(part, base_name)) for part in map(night.part, _main_parts(plan, night))]
    played = [part for part, cells in cells_of if any(chosen.names(*cell) for cell in cells)]
    if not played:
        raise _no_such_cell(plan, chosen, chain.from_iterable(cells for _, cells in cells_of))
    return played


def _main_parts(plan: StudyPlan, night: NightObject) -> list[StudyPart]:
    parts = [part for part in plan.parts if part.variant == study_variant(plan)]
    if night.endpoint_model is not None:
        return parts[:1]
    return parts


def _no_such_cell(plan: StudyPlan, chosen: ChosenCells, known: Iterable[tuple[str, str]]) -> UserError:
    """Return the error of a choice that names none of the known cells."""
    models, contracts = (dict.fromkeys(names) for names in zip(*known, strict=True))
    return UserError(
        f"plan {plan.name} has no cell {chosen.in_words}; choose --model from {', '.join(models)}, "
        f"--runtime-contract from {', '.join(contracts)}"
    )
