"""A part of a plan on the instances of another task family."""

from collections.abc import Sequence
from typing import Any

from carryover.tasks.agent.episode_spec import EpisodeSpec
from carryover.tasks.agent.own_contracts import lesson_of
from carryover.tasks.families.choose import family_source, open_own_family
from carryover.tasks.families.family import Family, is_teaching
from carryover.tasks.knapsack.teachers.habits import VARIED
from carryover.tasks.plans.study_plan import EvaluationSpec, InstanceSetSpec, StudyPart
from carryover.tasks.services.errors import UserError
from carryover.tasks.traces.vocabulary import PAPER_FAMILY


def in_family(part: StudyPart, wanted: str, *, has_endpoint: bool = False) -> StudyPart:
    """Return a part on another family's instances, by that family's rules.

    Its first bucket stands for the bucket of training, its last one for every other. `has_endpoint` says that an
    endpoint is to teach. Raise `UserError` where the part needs what the family does not have.
    """
    if wanted == PAPER_FAMILY:
        return part
    family = open_own_family(wanted).family
    _check(part, wanted, family, has_endpoint=has_endpoint)
    trained = _with_family(part.train_instances, wanted, family.buckets[0])
    evaluations = []
    for each in part.evaluations:
        is_harder = each.instances.bucket != part.train_instances.bucket
        if is_harder and len(family.buckets) == 1:
            continue
        bucket = family.buckets[-1] if is_harder else family.buckets[0]
        evaluations.append(_evaluation(part, each, _with_family(each.instances, wanted, bucket), family))
    own_rules = {"episode": _episode(part.teacher.episode, family), "habits": None}
    teacher = part.teacher.model_copy(update=own_rules)
    changes = {"train_instances": trained, "teacher": teacher, "evaluations": tuple(evaluations)}
    return part.model_copy(update=changes)


def _check(part: StudyPart, wanted: str, family: Family, *, has_endpoint: bool) -> None:
    if part.own_base is not None and part.own_base.corpus == "plain":
        raise UserError(
            f"part {part.name!r} trains a common base on texts about the knapsack; "
            "choose a plan or --parts of base scratch or hub for another family"
        )
    is_scripted = part.teacher.kind == "scripted" and not has_endpoint
    if part.teacher.habits not in (None, VARIED):
        raise UserError(
            f"part {part.name!r} sets a habit of the knapsack's teachers; choose another plan or other --parts"
        )
    untaught = _untaught(part, family)
    if is_scripted and untaught:
        raise UserError(
            f"family {wanted} has no scripted teacher for contract {untaught[0]}; "
            f"let an endpoint teach with --teacher-url, or {_way_to_teach(family, part.teacher.contracts)}"
        )


def _way_to_teach(family: Family, contracts: Sequence[str]) -> str:
    """Return what the author of a family adds for scripts of contracts."""
    line = f"taught = {tuple(map(str, contracts))!r}"
    if is_teaching(family):
        return f"let the class say which contracts teach() plays: {line}"
    return f"write teach(), and the line {line}"


def _untaught(part: StudyPart, family: Family) -> list[str]:
    """Return the contracts of training that neither the family nor their script's teacher plays."""
    return [name for name in part.teacher.contracts if lesson_of(part.defined(name), family.taught) is None]


def _evaluation(
    part: StudyPart, evaluation: EvaluationSpec, instances: InstanceSetSpec, family: Family
) -> EvaluationSpec:
    changes: dict[str, Any] = {
        "instances": instances,
        "episode": _episode(evaluation.episode, family),
        "has_scripted_rows": evaluation.has_scripted_rows and not _untaught(part, family),
    }
    return evaluation.model_copy(update=changes)


def _with_family(instances: InstanceSetSpec, wanted: str, bucket: str) -> InstanceSetSpec:
    place = {"family": wanted, "family_source": family_source(wanted), "bucket": bucket}
    return instances.model_copy(update=place)


def _episode(episode: EpisodeSpec, family: Family) -> EpisodeSpec:
    """Return an episode under a family's cap, with its faults."""
    faults = episode.faults
    if faults is not None:
        faults = None if family.spare_tool is None else faults.model_copy(update={"tool": family.spare_tool})
    return episode.model_copy(update={"tool_call_cap": family.tool_call_cap, "faults": faults})
